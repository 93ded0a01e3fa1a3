"""The laptop's memory: takes, pending events and the sync loop."""
