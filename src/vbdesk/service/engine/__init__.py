"""Job execution: child processes that can be killed, the durable engine, timeouts, recovery."""
