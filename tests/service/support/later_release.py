"""A later release with two migrations: a column on a table in use, and an index made while others write."""

import shutil
from pathlib import Path

import pytest
from alembic.config import Config

from vbdesk.service.kernel.db import migrate

BEFORE = migrate.REVISION
HEADER = 'revision = "{revision}"\ndown_revision = "{before}"\nbranch_labels = None\ndepends_on = None\n'
COLUMN = """
import sqlalchemy as sa
from alembic import op


def upgrade():
    op.add_column("jobs", sa.Column("note", sa.Text(), nullable=True))
"""
INDEX = """
from vbdesk.service.kernel.db.migrations.steps import create_index


def upgrade():
    create_index("ix_jobs_note", "jobs", ["note"])
"""


def become_later_release(monkeypatch: pytest.MonkeyPatch, folder: Path, newest: str = "0016") -> None:
    """Let `migrate` know the migrations up to `newest`, in a copy of the product's in `folder`."""
    shutil.copytree(Path(migrate.__file__).parent / "migrations", folder, dirs_exist_ok=True)
    before = BEFORE
    for revision, steps in (("0015", COLUMN), ("0016", INDEX)):
        if revision <= newest:
            text = HEADER.format(revision=revision, before=before) + steps
            (folder / "versions" / f"r{revision}.py").write_text(text)
            before = revision

    def configuration() -> Config:
        config = Config()
        config.set_main_option("script_location", folder.as_posix())
        return config

    monkeypatch.setattr(migrate, "configuration", configuration)
    monkeypatch.setattr(migrate, "REVISION", newest)
