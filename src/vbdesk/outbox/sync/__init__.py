"""The loop that sends recordings to the service and reads the results back."""
