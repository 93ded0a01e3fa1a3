"""The Debian package: a frozen program with its interpreter."""
