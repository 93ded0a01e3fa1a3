"""Object storage: the port, the embedded store, cloud buckets, and signed addresses."""
