"""Charts, painted from arrays that are prepared beforehand."""
