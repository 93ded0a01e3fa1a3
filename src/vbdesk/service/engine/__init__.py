"""Running jobs: killable children, the durable engine, time-outs and recovery."""
