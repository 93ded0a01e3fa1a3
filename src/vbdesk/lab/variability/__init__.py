"""How much one person's readings and features vary: fits and the files they write."""
