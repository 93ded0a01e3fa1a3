"""Compare: two recordings of one subject, side by side."""
