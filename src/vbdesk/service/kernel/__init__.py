"""What every other package rests on: settings, clock, errors, secrets, network address checks and the database."""
