//! Events as bytes: prost messages with a schema version (proto/apprentice/v1/record.proto).

use super::Event;

/// Why stored bytes are no event.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    /// Not the message that it should be.
    #[error("record is no event: {0}")]
    Prost(#[from] prost::DecodeError),
    /// A field has a value that this version does not know.
    #[error("record has an unknown {field} {value}; it was written by a newer version")]
    Unknown {
        /// Which field.
        field: &'static str,
        /// Its value.
        value: u64,
    },
    /// The offset table of an evidence does not fit its bytes.
    #[error("evidence is damaged: {0}")]
    Evidence(&'static str),
}

/// The bytes of an event, without its evidence.
pub fn encode(event: &Event) -> Vec<u8> {
    let _ = event;
    Vec::new()
}

/// Reads an event back; the evidence of a page is left empty.
///
/// # Errors
/// [`DecodeError`] if the bytes are damaged or of a newer version.
pub fn decode(bytes: &[u8]) -> Result<Event, DecodeError> {
    let _ = bytes;
    Err(DecodeError::Evidence("not written yet"))
}
