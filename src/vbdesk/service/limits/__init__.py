"""Rate limits: exact sliding windows."""
