"""Webhooks: who hears of a finished job, and how often it is tried."""
