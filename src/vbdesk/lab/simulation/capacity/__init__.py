"""Simulated capacity of the service: resources, and what breaks first."""
