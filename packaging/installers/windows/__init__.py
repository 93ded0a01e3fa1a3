"""The Windows packages: an interpreter with wheels, in an MSI."""
