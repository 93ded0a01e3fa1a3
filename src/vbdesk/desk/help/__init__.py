"""Help: the guide, the list of shortcuts, and what this program is made of."""
