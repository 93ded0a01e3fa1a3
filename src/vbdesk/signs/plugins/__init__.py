"""Signs of a lab's own: found, checked, and read like those that ship."""
