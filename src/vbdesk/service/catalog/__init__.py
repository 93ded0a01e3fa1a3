"""Models and signs that can be asked for."""
