//! What did the person ask for? One file a subcommand.
