"""Fitting a sign of a lab's own to labelled recordings, and telling how good it is."""
