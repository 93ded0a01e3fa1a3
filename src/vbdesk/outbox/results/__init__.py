"""What the service has found, as this computer has it."""
