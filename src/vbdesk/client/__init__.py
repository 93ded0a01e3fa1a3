"""A typed client of the service's interface."""
