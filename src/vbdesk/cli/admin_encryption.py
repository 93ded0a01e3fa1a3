"""`vbdesk admin encryption`: create a key file; show the progress of encryption at rest."""

from pathlib import Path
from typing import Annotated

import typer

from vbdesk.cli.admin_context import AsJson, DataDir, opened_store, show
from vbdesk.cli.output import fail
from vbdesk.language import _, system_reason

app = typer.Typer(no_args_is_help=True, help="Encryption at rest. Keys are named, never shown.")


@app.command("create-key")
def create_key(
    file: Annotated[Path, typer.Option(help="Path of the new key file: outside the folder of the service.")],
    as_json: AsJson = False,
) -> None:
    """Create a file with a random key, for the setting key_file. Keep a copy elsewhere: without it all data is lost."""
    from vbdesk.service.encryption.keys import create_key_file

    file_path = file.expanduser().resolve()
    if any((folder / "vbdesk.db").exists() for folder in file_path.parents):
        fail(
            _(
                "{file} would be in the folder of a service. Keep the key apart from the data that it protects.",
                file=file,
            )
        )
    try:
        key = create_key_file(file_path)
    except FileExistsError:
        fail(_("There is a file already: {file}. It is left as it is; choose another name.", file=file))
    except OSError as error:
        fail(_("{file} cannot be written: {reason}.", file=file, reason=system_reason(error)))
    show({"key": key.name, "file": str(file)}, as_json)


@app.command("status")
def show_status(data_dir: DataDir, as_json: AsJson = False) -> None:
    """Show whether the stored data is encrypted, which keys it needs, and how much is left to do. Needs no key."""
    from vbdesk.service.encryption.data_keys import is_encrypted, wrapped_by
    from vbdesk.service.encryption.progress import completed_at
    from vbdesk.service.maintenance.existing_data import count_plain_objects, count_plain_texts
    from vbdesk.service.maintenance.orphans import EVERY_FOLDER

    with opened_store(data_dir) as (database, store):
        encrypted = is_encrypted(database)
        shown = {
            "encrypted": encrypted,
            "complete_since": completed_at(database) if encrypted else None,
            "keys": sorted(wrapped_by(database)),
            "plain_texts": count_plain_texts(database),
            "plain_recordings": count_plain_objects(store, EVERY_FOLDER),
        }
    show(shown, as_json)
