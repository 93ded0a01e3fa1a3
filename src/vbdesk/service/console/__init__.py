"""The console: where an account holder sees credits and use, and looks after keys and the webhook."""
