"""Capacity of the service by simulation: resources per load, and the part that breaks first."""
