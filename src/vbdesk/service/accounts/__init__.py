"""Accounts: who may ask, and with which keys."""
