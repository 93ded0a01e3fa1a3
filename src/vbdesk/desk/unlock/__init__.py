"""Unlock: enter or save the key of the service on this computer."""
