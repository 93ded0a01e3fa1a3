"""Widgets that any feature may use. They know no feature."""
