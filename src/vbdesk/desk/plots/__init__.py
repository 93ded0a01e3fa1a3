"""Charts, drawn by pyqtgraph from arrays that are prepared beforehand."""
