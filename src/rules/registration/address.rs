use std::str::FromStr;

use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::{ServiceReference, WebhookClientConfig};
use thiserror::Error;

/// Port of a Service where none is named; Kubernetes' own default.
const PORT: i32 = 443;

/// How the API server reaches this server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    Service(ServiceAddress),
    Url(BaseUrl),
}

/// A Service: `NAMESPACE/NAME` or `NAMESPACE/NAME:PORT`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceAddress {
    pub namespace: String,
    pub name: String,
    /// 1 to 65535.
    pub port: i32,
}

/// A URL to which paths can be added: `https://HOST:PORT`, without `/` at the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaseUrl(String);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum AddressError {
    #[error("expected NAMESPACE/NAME or NAMESPACE/NAME:PORT, such as usher-system/usher")]
    Service,
    #[error("expected a URL that starts with https://")]
    Scheme,
    #[error("expected https://HOST:PORT, without user, query and fragment")]
    Url,
}

impl Address {
    /// For one path. Without an authority the API server goes by those of its machine, or by what somebody else adds.
    pub fn client_config(&self, path: &str, authority: Option<ByteString>) -> WebhookClientConfig {
        let mut config = WebhookClientConfig { ca_bundle: authority, ..WebhookClientConfig::default() };
        match self {
            Self::Service(service) => {
                config.service = Some(ServiceReference {
                    namespace: service.namespace.clone(),
                    name: service.name.clone(),
                    path: Some(path.to_owned()),
                    port: Some(service.port),
                });
            }
            Self::Url(BaseUrl(base)) => config.url = Some(format!("{base}{path}")),
        }
        config
    }
}

impl ServiceAddress {
    /// On the usual port.
    pub fn new(namespace: &str, name: &str) -> Self {
        Self { namespace: namespace.to_owned(), name: name.to_owned(), port: PORT }
    }
}

impl FromStr for ServiceAddress {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (namespace, rest) = text.split_once('/').ok_or(AddressError::Service)?;
        let (name, port) = match rest.split_once(':') {
            Some((name, port)) => (name, port.parse::<u16>().map_err(|_| AddressError::Service)?.into()),
            None => (rest, PORT),
        };
        let is_name = |name: &str| !name.is_empty() && !name.contains('/');
        if !is_name(namespace) || !is_name(name) || port == 0 {
            return Err(AddressError::Service);
        }
        Ok(Self { namespace: namespace.to_owned(), name: name.to_owned(), port })
    }
}

impl FromStr for BaseUrl {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let rest = text.strip_prefix("https://").ok_or(AddressError::Scheme)?;
        if rest.is_empty() || rest.contains(['?', '#', '@']) {
            return Err(AddressError::Url);
        }
        Ok(Self(text.trim_end_matches('/').to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("usher-system/usher", Ok(("usher-system", "usher", 443)))]
    #[case("usher-system/usher:8443", Ok(("usher-system", "usher", 8443)))]
    #[case("usher", Err(AddressError::Service))]
    #[case("/usher", Err(AddressError::Service))]
    #[case("usher-system/", Err(AddressError::Service))]
    #[case("usher-system/usher/x", Err(AddressError::Service))]
    #[case("usher-system/usher:0", Err(AddressError::Service))]
    #[case("usher-system/usher:70000", Err(AddressError::Service))]
    #[case("usher-system/:443", Err(AddressError::Service))]
    fn a_service_has_a_namespace_and_a_name(
        #[case] text: &str,
        #[case] expected: Result<(&str, &str, i32), AddressError>,
    ) {
        let parsed = text.parse::<ServiceAddress>();
        let parts = parsed.as_ref().map(|it| (it.namespace.as_str(), it.name.as_str(), it.port));
        assert_eq!(parts.map_err(|error| *error), expected);
    }

    #[rstest]
    #[case("https://127.0.0.1:8443", Ok("https://127.0.0.1:8443/validate/fail"))]
    #[case("https://usher.example.com/", Ok("https://usher.example.com/validate/fail"))]
    #[case("http://usher.example.com", Err(AddressError::Scheme))]
    #[case("https://", Err(AddressError::Url))]
    #[case("https://user@host", Err(AddressError::Url))]
    #[case("https://host?a=b", Err(AddressError::Url))]
    fn a_url_is_https_and_takes_a_path(#[case] text: &str, #[case] expected: Result<&str, AddressError>) {
        let url = text.parse::<BaseUrl>().map(Address::Url);
        let url = url.map(|url| url.client_config("/validate/fail", None).url.unwrap());
        assert_eq!(url.as_deref().map_err(|error| *error), expected);
    }
}
