"""Reports, charts and tables that several pages export, print or send."""
