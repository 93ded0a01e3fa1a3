"""Result: what one recording says."""
