"""Published simulations of the longitudinal method and of service capacity."""
