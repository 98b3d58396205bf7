//! A certificate chain with its key, read from PEM files.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use rustls::crypto::aws_lc_rs;
use rustls::sign::CertifiedKey;
use rustls_pki_types::pem::{Error as PemError, PemObject};
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use x509_parser::prelude::{FromDer, X509Certificate};

/// Chains and keys are a few KiB; a file that is larger is not one.
const MAX_FILE_BYTES: usize = 1024 * 1024;

/// Where the pair is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertFiles {
    pub cert: PathBuf,
    pub key: PathBuf,
}

/// What the files held; compared to notice a change.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct PairText {
    pub(super) cert: Vec<u8>,
    pub(super) key: Vec<u8>,
}

/// A chain and a key that belong together.
#[derive(Clone, Debug)]
pub struct Pair {
    certified_key: Arc<CertifiedKey>,
    not_before: i64,
    not_after: i64,
}

/// Why there is no pair.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("{flag}: cannot read {}: {source}", path.display())]
    Read { flag: &'static str, path: PathBuf, source: io::Error },
    #[error("{flag}: {} is larger than {MAX_FILE_BYTES} bytes; it cannot be what it should", path.display())]
    TooLarge { flag: &'static str, path: PathBuf },
    #[error("--tls-cert: {} holds no certificate; it needs a PEM block \"-----BEGIN CERTIFICATE-----\", the server's own first", .0.display())]
    NoCertificate(PathBuf),
    #[error("--tls-key: {} holds no private key; it needs a PEM block \"PRIVATE KEY\" (PKCS#8), \"RSA PRIVATE KEY\" (PKCS#1) or \"EC PRIVATE KEY\" (SEC1), not encrypted", .0.display())]
    NoKey(PathBuf),
    #[error("{flag}: {} is not PEM: {source}", path.display())]
    Pem { flag: &'static str, path: PathBuf, source: PemError },
    #[error("--tls-cert: the first certificate in {} cannot be read: {reason}", path.display())]
    Certificate { path: PathBuf, reason: String },
    #[error("--tls-key: the key in {} cannot be used: {source}", path.display())]
    Key { path: PathBuf, source: rustls::Error },
    #[error("--tls-key: the key in {} does not belong to the first certificate in {}", key.display(), cert.display())]
    Mismatch { cert: PathBuf, key: PathBuf },
    #[error("--tls-self-signed: cannot create a certificate: {0}")]
    Generate(#[from] rcgen::Error),
    #[error("--tls-self-signed: cannot write {}: {source}", path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("TLS cannot be set up: {0}")]
    Provider(rustls::Error),
}

impl TlsError {
    /// The metric label.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Read { .. } | Self::TooLarge { .. } => "read",
            Self::Mismatch { .. } => "mismatch",
            Self::Generate(_) | Self::Write { .. } | Self::Provider(_) => "other",
            Self::NoCertificate(_)
            | Self::NoKey(_)
            | Self::Pem { .. }
            | Self::Certificate { .. }
            | Self::Key { .. } => "parse",
        }
    }
}

impl CertFiles {
    /// Reads and checks the pair.
    ///
    /// # Errors
    /// Names the flag, the file and what is wrong with it.
    pub fn load(&self) -> Result<Pair, TlsError> {
        self.parse(&self.read()?)
    }

    pub(super) fn read(&self) -> Result<PairText, TlsError> {
        Ok(PairText { cert: read("--tls-cert", &self.cert)?, key: read("--tls-key", &self.key)? })
    }

    pub(super) fn parse(&self, text: &PairText) -> Result<Pair, TlsError> {
        let chain = CertificateDer::pem_slice_iter(&text.cert)
            .collect::<Result<Vec<_>, _>>()
            .map_err(|source| TlsError::Pem { flag: "--tls-cert", path: self.cert.clone(), source })?;
        let first = chain.first().ok_or_else(|| TlsError::NoCertificate(self.cert.clone()))?;
        let (not_before, not_after) =
            dates(first).map_err(|reason| TlsError::Certificate { path: self.cert.clone(), reason })?;
        let key = PrivateKeyDer::from_pem_slice(&text.key).map_err(|source| match source {
            PemError::NoItemsFound => TlsError::NoKey(self.key.clone()),
            source => TlsError::Pem { flag: "--tls-key", path: self.key.clone(), source },
        })?;
        let key = aws_lc_rs::default_provider()
            .key_provider
            .load_private_key(key)
            .map_err(|source| TlsError::Key { path: self.key.clone(), source })?;
        let certified_key = CertifiedKey::new(chain, key);
        match certified_key.keys_match() {
            Ok(()) => {}
            Err(rustls::Error::InconsistentKeys(_)) => {
                return Err(TlsError::Mismatch { cert: self.cert.clone(), key: self.key.clone() });
            }
            Err(error) => {
                return Err(TlsError::Certificate { path: self.cert.clone(), reason: error.to_string() });
            }
        }
        Ok(Pair { certified_key: Arc::new(certified_key), not_before, not_after })
    }
}

impl Pair {
    pub fn certified_key(&self) -> &Arc<CertifiedKey> {
        &self.certified_key
    }

    /// Seconds since 1970.
    pub fn not_before(&self) -> i64 {
        self.not_before
    }

    /// Seconds since 1970.
    pub fn not_after(&self) -> i64 {
        self.not_after
    }

    /// Whether the certificate is valid at `now`, in seconds since 1970.
    ///
    /// # Errors
    /// Says from when or until when it is.
    pub fn check_dates(&self, now: i64) -> Result<(), String> {
        let date = |seconds| {
            jiff::Timestamp::from_second(seconds)
                .map_or_else(|_| seconds.to_string(), |date| date.to_string())
        };
        if now < self.not_before {
            return Err(format!("the certificate is not valid before {}", date(self.not_before)));
        }
        if now > self.not_after {
            return Err(format!("the certificate expired at {}", date(self.not_after)));
        }
        Ok(())
    }
}

/// Seconds since 1970.
pub(super) fn unix_now() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_secs()).unwrap_or(i64::MAX)
}

/// No more than is allowed, and only of a file: a pipe or a device might never end.
fn read(flag: &'static str, path: &Path) -> Result<Vec<u8>, TlsError> {
    let at_most = || {
        if !std::fs::metadata(path)?.is_file() {
            return Err(io::Error::other("it is not a file"));
        }
        let mut text = Vec::new();
        File::open(path)?.take(MAX_FILE_BYTES as u64 + 1).read_to_end(&mut text)?;
        Ok(text)
    };
    let text = at_most().map_err(|source| TlsError::Read { flag, path: path.to_owned(), source })?;
    if text.len() > MAX_FILE_BYTES {
        return Err(TlsError::TooLarge { flag, path: path.to_owned() });
    }
    Ok(text)
}

fn dates(certificate: &CertificateDer<'_>) -> Result<(i64, i64), String> {
    let (_, certificate) = X509Certificate::from_der(certificate).map_err(|error| error.to_string())?;
    let validity = certificate.validity();
    Ok((validity.not_before.timestamp(), validity.not_after.timestamp()))
}

impl std::fmt::Debug for PairText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The key is a secret.
        f.debug_struct("PairText").field("cert_bytes", &self.cert.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
