//! What stands around this link? Written with the apprentice (DESIGN.md 4.3).
