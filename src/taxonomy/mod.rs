//! Which topics, which examples? Focus, folder and table readers.
