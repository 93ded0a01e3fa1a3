"""Item models: rows of cells, without a widget."""
