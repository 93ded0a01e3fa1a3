"""Profiles: services and accounts, and where their keys are stored."""
