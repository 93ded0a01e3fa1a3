"""Health of the service: probes of its parts, and findings with what to do."""
