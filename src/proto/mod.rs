//! Generated messages only, and how their enums are spelled in JSON.

pub(crate) mod names;

/// Version 1 of the API and of the records.
#[allow(
    missing_docs,
    unreachable_pub,
    unused_qualifications,
    clippy::all,
    clippy::pedantic,
    clippy::allow_attributes_without_reason,
    reason = "generated code; its documentation is in the .proto files"
)]
pub mod v1 {
    tonic::include_proto!("apprentice.v1");
}

/// The descriptors of all messages and services, for reflection.
pub const DESCRIPTORS: &[u8] =
    include_bytes!(concat!(env!("OUT_DIR"), "/apprentice.v1.descriptors.bin"));
