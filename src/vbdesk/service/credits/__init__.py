"""The credit ledger."""
