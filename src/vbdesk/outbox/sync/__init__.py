"""The one loop that brings recordings to the service and results back."""
