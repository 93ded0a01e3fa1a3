"""Base layer: settings, clock, errors, secrets, address checks and the database."""
