//! How is it spoken to? The gRPC service, its client, auth, status codes.
