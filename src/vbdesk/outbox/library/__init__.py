"""The recordings of one profile on this computer: sealed, proved, and what may be done with them."""
