"""Whether the service is well: probes of its parts, and findings that say what to do."""
