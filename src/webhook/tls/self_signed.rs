//! A certificate of our own making, for development and for a first try.

use std::fs::{self, OpenOptions, Permissions};
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use jiff::civil::Date;
use jiff::{ToSpan as _, Zoned, tz::TimeZone};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, ExtendedKeyUsagePurpose,
    IsCa, KeyPair, KeyUsagePurpose,
};

use super::pair::{CertFiles, TlsError, unix_now};

/// Whom the certificate is for.
const NAMES: [&str; 5] =
    ["localhost", "127.0.0.1", "::1", "usher.usher-system.svc", "usher.usher-system.svc.cluster.local"];
/// A certificate with less time left is made anew at the start.
const MIN_SECONDS_LEFT: i64 = 24 * 3600;

/// Makes `ca.crt`, `tls.crt` and `tls.key` in `directory`, readable only for the owner, and says where they are. A pair that is there and
/// still valid for a day is kept, so that clients who know the authority need not learn a new one at each start. The
/// authority's own key is thrown away.
///
/// # Errors
/// When a file cannot be written.
pub fn self_signed(directory: &Path) -> Result<CertFiles, TlsError> {
    let files = CertFiles { cert: directory.join("tls.crt"), key: directory.join("tls.key") };
    let authority = directory.join("ca.crt");
    let is_usable = files.load().is_ok_and(|pair| pair.check_dates(unix_now() + MIN_SECONDS_LEFT).is_ok());
    if is_usable && authority.exists() {
        return Ok(files);
    }
    fs::create_dir_all(directory).map_err(|source| {
        // "File exists" would be no news to anybody.
        let source = if directory.is_file() { ErrorKind::NotADirectory.into() } else { source };
        TlsError::Write { path: directory.to_owned(), source }
    })?;
    let made = Made::new()?;
    write(&authority, &made.authority)?;
    write(&files.key, &made.key)?;
    write(&files.cert, &made.cert)?;
    Ok(files)
}

/// PEM texts.
struct Made {
    authority: String,
    cert: String,
    key: String,
}

impl Made {
    fn new() -> Result<Self, rcgen::Error> {
        let mut params = CertificateParams::new(Vec::new())?;
        params.distinguished_name = named("usher development authority");
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        set_dates(&mut params);
        let authority = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;

        let mut params = CertificateParams::new(NAMES.map(str::to_owned))?;
        params.distinguished_name = named("usher.usher-system.svc");
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.use_authority_key_identifier_extension = true;
        set_dates(&mut params);
        let key = KeyPair::generate()?;
        let cert = params.signed_by(&key, &authority)?;
        Ok(Self { authority: authority.pem(), cert: cert.pem(), key: key.serialize_pem() })
    }
}

fn named(name: &str) -> DistinguishedName {
    let mut distinguished = DistinguishedName::new();
    distinguished.push(DnType::CommonName, name);
    distinguished
}

/// From yesterday, for clocks that are behind, for a year.
fn set_dates(params: &mut CertificateParams) {
    let today = Zoned::now().with_time_zone(TimeZone::UTC).date();
    let day = |date: Date| {
        let part = |n: i8| u8::try_from(n).unwrap_or(1);
        rcgen::date_time_ymd(date.year().into(), part(date.month()), part(date.day()))
    };
    params.not_before = day(today.saturating_sub(1.day()));
    params.not_after = day(today.saturating_add(365.days()));
}

/// Puts the file there at once, so that nobody reads half of it.
fn write(path: &Path, text: &str) -> Result<(), TlsError> {
    let beside = path.with_extension("new");
    let written = (|| {
        let mut file =
            OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&beside)?;
        file.set_permissions(Permissions::from_mode(0o600))?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&beside, path)
    })();
    written.map_err(|source| TlsError::Write { path: path.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_is_made_once_and_only_its_owner_can_read_it() {
        let directory = tempfile::tempdir().unwrap();
        let below = directory.path().join("new");
        let files = self_signed(&below).unwrap();
        let pair = files.load().unwrap();
        assert!(pair.check_dates(unix_now() + 300 * 24 * 3600).is_ok());
        for name in ["ca.crt", "tls.crt", "tls.key"] {
            let mode = fs::metadata(below.join(name)).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{name}");
        }
        let before = fs::read(&files.cert).unwrap();
        self_signed(&below).unwrap();
        assert_eq!(fs::read(&files.cert).unwrap(), before);
    }

    #[test]
    fn a_broken_pair_is_made_anew() {
        let directory = tempfile::tempdir().unwrap();
        let files = self_signed(directory.path()).unwrap();
        fs::write(&files.key, "nothing").unwrap();
        self_signed(directory.path()).unwrap().load().unwrap();
    }

    #[test]
    fn a_directory_that_cannot_be_written_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("file");
        fs::write(&file, "").unwrap();
        let error = self_signed(&file.join("below")).unwrap_err().to_string();
        assert!(error.contains("--tls-self-signed") && error.contains("below"), "{error}");
    }
}
