"""The recordings of one profile on this computer: encrypted, authenticated, and their operations."""
