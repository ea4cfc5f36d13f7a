//! How is it kept for others? WARC in and out, and an archive served as a proxy.

mod beside;
mod cdxj;
mod counted;
mod decode;
mod error;
mod file;
mod headers;
mod index;
mod info;
mod keeper;
mod kept;
mod limits;
mod listing;
mod member;
mod proxy;
mod record;
mod recover;
mod response;
mod scan;
mod stream;
mod web;
mod writer;

pub use beside::Indexes;
pub use cdxj::cdxj;
pub use error::{ArchiveError, Damage, Flaw};
pub use index::{Archive, Progress};
pub use info::{ArchiveInfo, FileInfo};
pub use keeper::{Keeper, KeptAt};
pub use kept::{KeptPage, WireExchange};
pub use proxy::{Answer, ArchiveLibrary, Authority, AuthorityError, Library, ProxyLimits, serve};
pub use recover::{Recovered, recover};
pub use response::ArchivedResponse;
pub use writer::{StoredAnswer, WarcWriter};

#[cfg(test)]
mod tests;
