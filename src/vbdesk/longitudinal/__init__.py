"""One subject over time: the trait-shift-state filter and the reads made from it."""
