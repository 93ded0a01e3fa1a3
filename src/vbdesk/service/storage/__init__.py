"""Object storage: a port, the embedded store, and its signed-address origin."""
