"""What FastAPI leaves to us at the edge of HTTP."""
