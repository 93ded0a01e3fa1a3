"""Groups of jobs, and what is read from a group over time."""
