use std::path::PathBuf;
use std::time::Duration;

use kube::config::{InClusterError, KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube::{Client, Config};
use thiserror::Error;

/// How long to wait for a connection. Beyond that the API server counts as away.
const CONNECT: Duration = Duration::from_secs(5);
/// How long an answer may say nothing. Longer than the watches, which end by themselves after 200 s.
const SILENCE: Duration = Duration::from_secs(210);

/// Which API server to talk to, and as whom.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Connection {
    /// A kubeconfig file. Without one: the account of the Pod that this runs in, else `KUBECONFIG` or `~/.kube/config`.
    pub kubeconfig: Option<PathBuf>,
    /// A context of the kubeconfig instead of its current one. Means a kubeconfig even inside a Pod.
    pub context: Option<String>,
}

/// Why there is no client. Nothing has been sent yet.
#[derive(Debug, Error)]
pub enum ConnectError {
    #[error("cannot use the kubeconfig")]
    Kubeconfig(#[source] Box<KubeconfigError>),
    #[error("cannot use the account of the Pod")]
    Pod(#[source] InClusterError),
    #[error("cannot make a client of the configuration")]
    Client(#[source] Box<kube::Error>),
}

impl Connection {
    /// Whether this process runs in a Pod: Kubernetes sets the variable in every container.
    pub fn is_in_pod() -> bool {
        std::env::var_os("KUBERNETES_SERVICE_HOST").is_some()
    }

    /// A client. Makes no connection; needs a runtime.
    ///
    /// # Errors
    /// There is no configuration, or it cannot be used.
    pub async fn client(&self) -> Result<Client, ConnectError> {
        let mut config = self.config().await?;
        config.connect_timeout = Some(CONNECT);
        config.read_timeout = Some(SILENCE);
        // A connection of the pool may have been idle for longer than that already.
        config.reset_reader_on_write = true;
        // Who asks has a backoff of its own, and wants to know of errors at once.
        config.default_retry = false;
        Client::try_from(config).map_err(|error| ConnectError::Client(Box::new(error)))
    }

    async fn config(&self) -> Result<Config, ConnectError> {
        if self.kubeconfig.is_none() && self.context.is_none() && Self::is_in_pod() {
            return Config::incluster().map_err(ConnectError::Pod);
        }
        let broken = |error| ConnectError::Kubeconfig(Box::new(error));
        let kubeconfig = match &self.kubeconfig {
            Some(path) => Kubeconfig::read_from(path),
            None => Kubeconfig::read(),
        };
        let options = KubeConfigOptions { context: self.context.clone(), ..KubeConfigOptions::default() };
        Config::from_custom_kubeconfig(kubeconfig.map_err(broken)?, &options).await.map_err(broken)
    }
}
