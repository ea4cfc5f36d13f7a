//! What the integration tests share.

pub(crate) mod daemon;
pub(crate) mod judge;
pub(crate) mod proxy;
pub(crate) mod site;
pub(crate) mod socks;
pub(crate) mod tls;
