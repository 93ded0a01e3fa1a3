"""Cohort: all subjects at once."""
