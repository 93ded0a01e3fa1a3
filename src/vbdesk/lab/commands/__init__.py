"""Commands of the lab. `vbdesk.cli.main` imports this package by its name; no module imports it."""

from vbdesk.lab.commands.features import features
from vbdesk.lab.commands.fit import fit
from vbdesk.lab.commands.longitudinal import longitudinal
from vbdesk.lab.commands.norms import norms
from vbdesk.lab.commands.simulate import app as simulate

__all__ = ["features", "fit", "longitudinal", "norms", "simulate"]
