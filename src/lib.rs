//! Apprentice: a focused crawler that runs as a daemon.
//!
//! A **critic** (naive Bayes over a topic taxonomy) judges each fetched page; the **frontier** holds
//! every link not yet fetched, ordered by predicted relevance under the rules of politeness; an
//! **apprentice** learns, while the crawl runs, which links are worth following. Success is measured
//! as expected page loss, L(n) = sum over the n fetched pages of (1 - R(v)).
//!
//! # The layers
//! A module imports only from below itself in this list (`tests/it/layers.rs` holds it to that).
//!
//! | module | the question that it answers |
//! |---|---|
//! | [`cli`] | what did the person ask for? |
//! | [`daemon`] | how does the process live? |
//! | [`control`] | how is it spoken to? |
//! | [`lab`] | would another crawler have done better? |
//! | [`registry`] | which crawls are in this data directory? |
//! | [`collect`] | what came of a list of URLs? |
//! | [`crawl`] | what happens to one link? |
//! | [`frontier`] | which link next, and when? |
//! | [`apprentice`] | how good is this link likely to be? |
//! | [`booking`] | what did one outcome change? |
//! | [`critic`] | how relevant is this page? |
//! | [`features`] | what stands around this link? |
//! | [`fetch`] | what did the server say? |
//! | [`page`] | what is on the page? |
//! | [`taxonomy`] | which topics, which examples? |
//! | [`archive`] | how is it kept for others? |
//! | [`measure`] | how well are we doing? |
//! | [`store`] | how does it survive a crash? |
//! | [`text`], [`url`] | which words? which page, which host? |
//! | [`clock`] | what time is it, and what comes out of the hat? |
//! | [`proto`] | generated messages only |

pub mod apprentice;
pub mod archive;
pub mod booking;
pub mod cli;
pub mod clock;
pub mod collect;
pub mod control;
pub mod crawl;
pub mod critic;
pub mod daemon;
pub mod features;
pub mod fetch;
pub mod frontier;
pub mod lab;
pub mod measure;
pub mod page;
pub mod proto;
pub mod registry;
pub mod store;
pub mod taxonomy;
pub mod text;
pub mod url;
