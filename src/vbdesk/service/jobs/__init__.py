"""Jobs: submitted, run, finished, read."""
