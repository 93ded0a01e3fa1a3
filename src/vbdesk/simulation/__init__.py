"""Published simulations: the longitudinal method on synthetic subjects, the service under synthetic load."""
