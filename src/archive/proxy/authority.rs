//! A certificate authority of the proxy's own, which lives as long as the process.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

/// Hosts whose certificates are kept; a further one begins an empty cache. Making a certificate
/// takes about a tenth of a millisecond.
const HOSTS_MAX: usize = 4096;

/// The longest host name (RFC 1035, 2.3.4).
const HOST_BYTES_MAX: usize = 253;

/// A certificate cannot be made.
#[derive(Debug, thiserror::Error)]
#[error("cannot make a certificate for {subject}: {detail}")]
pub struct AuthorityError {
    subject: String,
    detail: String,
}

/// Makes certificates for the hosts that a proxy answers for. Clients have to be told to trust
/// [`Authority::ca_pem`]; the key is kept in memory alone, so that nobody else can use that trust.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    ca_pem: String,
    /// The key of all leaf certificates.
    leaf_key: KeyPair,
    hosts: Mutex<HashMap<String, Arc<ServerConfig>>>,
}

impl std::fmt::Debug for Authority {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Never the keys.
        f.debug_struct("Authority").finish_non_exhaustive()
    }
}

impl Authority {
    /// A new authority with keys of its own.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub fn generate() -> Result<Self, AuthorityError> {
        let failed = |error: rcgen::Error| AuthorityError {
            subject: "the authority".to_owned(),
            detail: error.to_string(),
        };
        let key = KeyPair::generate().map_err(failed)?;
        let mut params = CertificateParams::default();
        params
            .distinguished_name
            .push(DnType::CommonName, "Apprentice archive proxy");
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let ca_pem = params.self_signed(&key).map_err(failed)?.pem();
        Ok(Self {
            issuer: Issuer::new(params, key),
            ca_pem,
            leaf_key: KeyPair::generate().map_err(failed)?,
            hosts: Mutex::new(HashMap::new()),
        })
    }

    /// The authority's certificate, which clients have to trust, as PEM.
    pub fn ca_pem(&self) -> &str {
        &self.ca_pem
    }

    /// The server side of TLS for `host` (a name, or an address without brackets).
    pub(super) fn server_config(&self, host: &str) -> Result<Arc<ServerConfig>, AuthorityError> {
        let host = host.to_ascii_lowercase();
        // A panic elsewhere leaves the cache as good as it was.
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(config) = hosts.get(&host) {
            return Ok(Arc::clone(config));
        }
        let config = Arc::new(self.make(&host)?);
        if hosts.len() >= HOSTS_MAX {
            hosts.clear();
        }
        hosts.insert(host, Arc::clone(&config));
        Ok(config)
    }

    fn make(&self, host: &str) -> Result<ServerConfig, AuthorityError> {
        let failed = |detail: String| AuthorityError {
            subject: format!("{host:.80?}"),
            detail,
        };
        check_host(host).map_err(|detail| failed(detail.to_owned()))?;
        let mut params =
            CertificateParams::new([host.to_owned()]).map_err(|error| failed(error.to_string()))?;
        params
            .distinguished_name
            .push(DnType::CommonName, "archived host");
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.use_authority_key_identifier_extension = true;
        let certificate = params
            .signed_by(&self.leaf_key, &self.issuer)
            .map_err(|error| failed(error.to_string()))?;
        let key = PrivatePkcs8KeyDer::from(self.leaf_key.serialize_der());
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .and_then(|builder| {
                builder
                    .with_no_client_auth()
                    .with_single_cert(vec![certificate.der().clone()], PrivateKeyDer::Pkcs8(key))
            })
            .map_err(|error| failed(error.to_string()))?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(config)
    }
}

/// Only names that can stand in a certificate.
fn check_host(host: &str) -> Result<(), &'static str> {
    if host.parse::<IpAddr>().is_ok() {
        return Ok(());
    }
    let good = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
    if host.is_empty() || host.len() > HOST_BYTES_MAX || !host.bytes().all(good) {
        return Err("not a host name");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_gets_one_certificate_and_the_cache_stays_bounded() {
        let authority = Authority::generate().unwrap();
        let first = authority.server_config("A.example").unwrap();
        let again = authority.server_config("a.example").unwrap();
        assert!(Arc::ptr_eq(&first, &again));
        authority
            .hosts
            .lock()
            .unwrap()
            .extend((0..HOSTS_MAX).map(|number| (number.to_string(), Arc::clone(&first))));
        authority.server_config("b.example").unwrap();
        assert_eq!(authority.hosts.lock().unwrap().len(), 1);
    }

    #[test]
    fn addresses_have_certificates_and_nonsense_has_none() {
        let authority = Authority::generate().unwrap();
        authority.server_config("127.0.0.1").unwrap();
        authority.server_config("2001:db8::1").unwrap();
        for bad in ["", "a b", "\u{e9}.example", &"a".repeat(254)] {
            let error = authority.server_config(bad).unwrap_err().to_string();
            assert!(error.contains("not a host name"), "{error}");
        }
    }
}
