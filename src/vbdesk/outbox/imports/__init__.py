"""Sound before it is a recording of the library: files from elsewhere, and the check."""
