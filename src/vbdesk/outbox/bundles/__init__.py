"""Transfer bundles: waiting recordings in one encrypted file, for another computer to send."""
