"""Which services and accounts, and where their keys are kept."""
