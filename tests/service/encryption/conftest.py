"""A database with data keys."""

from contextlib import closing

import pytest

from vbdesk.clock import utc_now
from vbdesk.service.encryption.data_keys import open_data_keys
from vbdesk.service.encryption.keys import new_key
from vbdesk.service.kernel.db.migrate import upgrade
from vbdesk.service.kernel.db.session import open_database
from vbdesk.service.kernel.settings import load_settings


@pytest.fixture(scope="module")
def data_keys(tmp_path_factory):
    """Data keys of an SQLite database."""
    folder = tmp_path_factory.mktemp("keys")
    with closing(open_database(load_settings(folder))) as database:
        upgrade(database, folder)
        yield open_data_keys(database, (new_key(),), utc_now)
