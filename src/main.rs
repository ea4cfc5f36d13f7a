//! The `apprentice` program.

fn main() {}
