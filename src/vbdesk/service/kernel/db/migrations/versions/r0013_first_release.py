"""The tables of the oldest database that every later version opens; new ones are made from the metadata instead."""

revision = "0013"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Do nothing: `migrate` refuses databases before this revision."""
