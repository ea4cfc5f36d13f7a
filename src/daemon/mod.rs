//! How does the process live? Start, signals, lock, stop.
