"""Older API versions, mapped onto the same jobs: v1 and the earlier v2 form."""
