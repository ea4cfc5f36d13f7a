//! How is it kept for others? WARC in and out, and an archive served as a proxy.
