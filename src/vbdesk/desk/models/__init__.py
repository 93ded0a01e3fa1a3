"""State and texts that several features share. No widgets."""
