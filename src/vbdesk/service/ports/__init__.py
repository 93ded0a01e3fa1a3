"""The context of a running process, and protocols of its parts."""
