"""Models and signs that a job may request."""
