"""Subject: one subject over time."""
