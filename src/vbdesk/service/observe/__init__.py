"""What the running service tells its operators: logs, metrics, traces and readiness. Never whose voice it was."""
