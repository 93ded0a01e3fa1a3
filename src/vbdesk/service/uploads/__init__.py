"""Audio uploads by signed address."""
