"""First start: choose this computer or a service."""
