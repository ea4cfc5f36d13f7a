//! `apprentice lab run` on a small archive.
