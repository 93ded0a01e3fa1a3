"""Result: the result of one recording."""
