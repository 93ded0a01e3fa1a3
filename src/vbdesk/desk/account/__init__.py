"""Account: service, credits, webhook and settings."""
