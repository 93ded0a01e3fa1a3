"""The older forms of the interface, mapped onto the same jobs: the earlier v2 form and v1."""
