"""What only researchers run: simulations, fits, norms, corpora. No package imports it; the extra is `lab`."""
