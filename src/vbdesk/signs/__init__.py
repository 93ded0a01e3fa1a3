"""From features to signs: evidence, calibration, levels, extended metrics, narrative."""
