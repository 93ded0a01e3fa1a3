"""From microphone to disk."""
