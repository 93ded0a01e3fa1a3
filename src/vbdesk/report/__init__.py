"""What leaves the desk."""
