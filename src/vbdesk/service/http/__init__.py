"""HTTP features that FastAPI does not provide."""
