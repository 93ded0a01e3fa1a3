"""What the method's alarms, delays and intervals are worth, on subjects whose truth is known.

The truth is not the fitted model: logit-normal levels instead of started-logit ones, heavy-tailed readings, variability
and memory that differ from subject to subject, qualities known only roughly, jittered and missing days.
"""
