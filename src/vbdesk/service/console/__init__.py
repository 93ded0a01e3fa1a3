"""Console: account holders see credits and use, and manage keys and the webhook."""
