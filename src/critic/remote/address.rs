//! Where a judge is.

use std::path::PathBuf;

/// A path of a Unix socket cannot be longer than this on Linux (107 bytes and a zero).
const SOCKET_PATH_BYTES_MAX: usize = 107;

/// The address of a judge, checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JudgeAddress {
    text: String,
    is_tls: bool,
}

impl JudgeAddress {
    /// Reads `http://127.0.0.1:PORT` (loopback only), `https://HOST:PORT` or `unix:/PATH`.
    ///
    /// # Errors
    /// Says in words what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if let Some(path) = text.strip_prefix("unix:") {
            return Self::of_socket(path);
        }
        let usage = "give http://127.0.0.1:PORT, https://HOST:PORT or unix:/PATH";
        let url = url::Url::parse(text).map_err(|error| format!("{text:?}: {error}; {usage}"))?;
        let bare = url.path() == "/" && url.query().is_none() && url.fragment().is_none();
        let is_tls = match url.scheme() {
            "https" => true,
            "http" => false,
            _ => return Err(format!("{text:?}: {usage}")),
        };
        if !bare || !url.username().is_empty() || url.password().is_some() {
            return Err(format!("{text:?} is more than host and port; {usage}"));
        }
        let is_loopback = match url.host() {
            Some(url::Host::Domain(name)) => name == "localhost",
            Some(url::Host::Ipv4(address)) => address.is_loopback(),
            Some(url::Host::Ipv6(address)) => address.is_loopback(),
            None => return Err(format!("{text:?} names no host; {usage}")),
        };
        if !is_tls && !is_loopback {
            return Err(format!(
                "{text:?}: pages go to another machine under TLS only; give https://HOST:PORT"
            ));
        }
        Ok(Self {
            text: text.trim_end_matches('/').to_owned(),
            is_tls,
        })
    }

    fn of_socket(path: &str) -> Result<Self, String> {
        // `unix:///path` is another way to write it.
        let path = PathBuf::from(match path.strip_prefix("//") {
            Some(rest) => rest,
            None => path,
        });
        if !path.is_absolute() || path.as_os_str().len() > SOCKET_PATH_BYTES_MAX {
            return Err(format!(
                "unix:{}: give the whole path of a socket, at most {SOCKET_PATH_BYTES_MAX} bytes",
                path.display()
            ));
        }
        Ok(Self {
            text: format!("unix:{}", path.display()),
            is_tls: false,
        })
    }

    /// As people read it and the transport takes it.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether it is spoken to under TLS.
    pub(super) fn is_tls(&self) -> bool {
        self.is_tls
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_tls_and_sockets_are_taken() {
        let taken = |text: &str| JudgeAddress::parse(text).unwrap().as_str().to_owned();
        assert_eq!(taken("http://127.0.0.1:7800/"), "http://127.0.0.1:7800");
        assert_eq!(taken("http://localhost:7800"), "http://localhost:7800");
        assert_eq!(taken("http://[::1]:7800"), "http://[::1]:7800");
        assert_eq!(
            taken("https://judge.example:443"),
            "https://judge.example:443"
        );
        assert_eq!(taken("unix:/run/judge.sock"), "unix:/run/judge.sock");
        assert_eq!(taken("unix:///run/judge.sock"), "unix:/run/judge.sock");
    }

    #[test]
    fn what_is_no_address_is_refused_with_what_would_be_one() {
        let refused = |text: &str| JudgeAddress::parse(text).unwrap_err();
        assert!(refused("http://10.0.0.7:7800").contains("TLS"));
        assert!(refused("http://judge.example:7800").contains("https://"));
        assert!(refused("127.0.0.1:7800").contains("http://127.0.0.1:PORT"));
        assert!(refused("ftp://127.0.0.1").contains("unix:"));
        assert!(refused("http://127.0.0.1:1/judge").contains("more than host"));
        assert!(refused("http://me@127.0.0.1:1").contains("more than host"));
        assert!(refused("unix:judge.sock").contains("whole path"));
        assert!(refused(&format!("unix:/{}", "x".repeat(107))).contains("107"));
    }
}
