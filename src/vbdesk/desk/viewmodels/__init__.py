"""State and rules of the pages, without a widget."""
