"""What a recording says: pure functions of samples."""
