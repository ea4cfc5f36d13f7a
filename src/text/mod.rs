//! Which words?
//!
//! One tokenizer for the critic and for the features of links: a word is a maximal run of
//! alphanumeric characters, lower-cased.

mod near;
mod simhash;
mod stop;
mod token;

pub use near::unknown_name;
pub use simhash::{DISTANCE_MAX, simhash};
pub use stop::is_stop_word;
pub use token::{WORD_BYTES_MAX, for_each_word, words};
