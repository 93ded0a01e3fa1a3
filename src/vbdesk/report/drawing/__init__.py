"""Vector drawings without a window: shapes, and how they become PDF, SVG and PNG."""
