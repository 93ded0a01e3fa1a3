"""What is in order on this computer, told without naming anybody."""
