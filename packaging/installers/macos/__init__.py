"""The macOS application: a frozen program in a disk image."""
