"""The key and the lock of this computer: what the shell, Account and the first start share."""
