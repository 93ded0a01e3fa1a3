"""Many recordings measured with the extractor: tables that name them, processes that measure them, a journal."""
