"""Audio uploads by signed addresses."""
