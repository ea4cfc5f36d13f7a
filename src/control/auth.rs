//! Who may speak? A bearer token, for control over TCP.

use std::fs;
use std::path::{Path, PathBuf};

use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::Interceptor;
use tonic::{Request, Status};

/// The shortest token that is taken, in bytes.
const TOKEN_BYTES_MIN: usize = 16;

/// A shared secret. Never printed.
#[derive(Clone)]
pub struct Token(MetadataValue<Ascii>);

/// Why a token file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// It cannot be read.
    #[error("token file {0}: {1}")]
    Io(PathBuf, std::io::Error),
    /// It is too short or holds characters that no header can carry.
    #[error(
        "token file {0}: use at least {TOKEN_BYTES_MIN} printable ASCII characters on one line, such as `openssl rand -hex 32` gives"
    )]
    Weak(PathBuf),
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(..)")
    }
}

impl Token {
    /// Reads a token from a file; white space around it is ignored.
    ///
    /// # Errors
    /// [`TokenError`] names the file.
    pub fn read(path: &Path) -> Result<Self, TokenError> {
        let text =
            fs::read_to_string(path).map_err(|error| TokenError::Io(path.to_path_buf(), error))?;
        let text = text.trim();
        let printable = text.bytes().all(|byte| byte.is_ascii_graphic());
        if text.len() < TOKEN_BYTES_MIN || !printable {
            return Err(TokenError::Weak(path.to_path_buf()));
        }
        let value = format!("Bearer {text}")
            .parse()
            .map_err(|_| TokenError::Weak(path.to_path_buf()))?;
        Ok(Self(value))
    }

    fn admits(&self, offered: Option<&MetadataValue<Ascii>>) -> bool {
        let expected = self.0.as_encoded_bytes();
        let offered = offered.map_or(&b""[..], |value| value.as_encoded_bytes());
        // Every byte is looked at, so that the time says nothing about the place of a difference.
        let differences = expected
            .iter()
            .zip(offered.iter().chain(std::iter::repeat(&0)))
            .fold(0, |sum, (a, b)| sum | (a ^ b));
        differences == 0 && expected.len() == offered.len()
    }
}

/// Refuses calls without the token, if there is one.
#[derive(Clone, Debug)]
pub(super) struct Guard(pub(super) Option<Token>);

impl Interceptor for Guard {
    fn call(&mut self, request: Request<()>) -> Result<Request<()>, Status> {
        match &self.0 {
            Some(token) if !token.admits(request.metadata().get("authorization")) => {
                let words = match request.metadata().get("authorization") {
                    None => "this daemon asks for a token; give it with --token-file",
                    Some(_) => {
                        "the token is not the daemon's; give the daemon's own with --token-file"
                    }
                };
                Err(Status::unauthenticated(words))
            }
            _ => Ok(request),
        }
    }
}

/// Adds the token to calls, if there is one.
#[derive(Clone, Debug)]
pub(super) struct Bearer(pub(super) Option<Token>);

impl Interceptor for Bearer {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        if let Some(token) = &self.0 {
            request
                .metadata_mut()
                .insert("authorization", token.0.clone());
        }
        Ok(request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(text: &str) -> Result<Token, TokenError> {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), text).unwrap();
        Token::read(file.path())
    }

    #[test]
    fn only_the_whole_token_is_admitted() {
        let right = token("0123456789abcdef\n").unwrap();
        let with = |text: &str| -> bool { right.admits(Some(&text.parse().unwrap())) };
        assert!(with("Bearer 0123456789abcdef"));
        assert!(!with("Bearer 0123456789abcdeX"));
        assert!(!with("Bearer 0123456789abcde"));
        assert!(!with("Bearer 0123456789abcdef0"));
        assert!(!with("0123456789abcdef"));
        assert!(!right.admits(None));
    }

    #[test]
    fn a_weak_token_is_refused() {
        assert!(token("short").is_err());
        assert!(token("with a space in the middle").is_err());
    }
}
