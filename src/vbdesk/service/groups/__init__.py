"""Groups of jobs, and analyses of a group over time."""
