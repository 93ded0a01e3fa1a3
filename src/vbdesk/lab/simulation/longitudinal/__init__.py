"""Performance of the longitudinal method on simulated subjects.

The simulated truth differs from the fitted model: levels are logit-normal instead of started-logit, readings have heavy
tails, variability and memory differ between subjects, qualities are imprecise, days are jittered or missing.
"""
