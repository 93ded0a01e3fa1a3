"""The context of a running process, and the protocols of its parts."""
