"""What several pages say of a result, and how they correct it."""
