//! The keys of a control plane: one authority, a certificate for the API server, one for an administrator.

use std::path::{Path, PathBuf};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose,
};

/// PEM files.
pub(super) struct Certificates {
    pub(super) authority: PathBuf,
    pub(super) server: Pair,
    /// Of the group `system:masters`.
    pub(super) admin: Pair,
    /// Signs the tokens of service accounts: private, and public.
    pub(super) accounts: (PathBuf, PathBuf),
}

pub(super) struct Pair {
    pub(super) certificate: PathBuf,
    pub(super) key: PathBuf,
}

impl Certificates {
    pub(super) fn write(directory: &Path) -> Self {
        let mut params = CertificateParams::new(Vec::new()).expect("no names");
        params.distinguished_name.push(DnType::CommonName, "test control plane");
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let authority = CertifiedIssuer::self_signed(params, key()).expect("an authority");
        let accounts = (directory.join("accounts.key"), directory.join("accounts.pub"));
        let signer = key();
        write(&accounts.0, &signer.serialize_pem());
        write(&accounts.1, &signer.public_key_pem());
        let certificate = directory.join("ca.crt");
        write(&certificate, &authority.pem());

        let names = ["127.0.0.1", "localhost"].map(str::to_owned);
        let mut server = CertificateParams::new(names).expect("names");
        server.distinguished_name.push(DnType::CommonName, "kube-apiserver");
        server.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let mut admin = CertificateParams::new(Vec::new()).expect("no names");
        admin.distinguished_name.push(DnType::CommonName, "admin");
        admin.distinguished_name.push(DnType::OrganizationName, "system:masters");
        admin.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        Self {
            authority: certificate,
            server: issue(&authority, server, directory, "server"),
            admin: issue(&authority, admin, directory, "admin"),
            accounts,
        }
    }
}

fn issue(
    authority: &CertifiedIssuer<'_, KeyPair>,
    params: CertificateParams,
    directory: &Path,
    name: &str,
) -> Pair {
    let own = key();
    let signed = params.signed_by(&own, authority).expect("a certificate");
    let pair = Pair {
        certificate: directory.join(format!("{name}.crt")),
        key: directory.join(format!("{name}.key")),
    };
    write(&pair.certificate, &signed.pem());
    write(&pair.key, &own.serialize_pem());
    pair
}

fn key() -> KeyPair {
    KeyPair::generate().expect("a key")
}

fn write(path: &Path, text: &str) {
    std::fs::write(path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}
