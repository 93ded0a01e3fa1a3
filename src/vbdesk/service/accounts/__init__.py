"""Accounts, their keys, and sign-in sessions of the console."""
