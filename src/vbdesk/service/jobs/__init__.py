"""Jobs: submission, execution, results."""
