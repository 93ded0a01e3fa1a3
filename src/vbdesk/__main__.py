"""`vbdesk` and `python -m vbdesk`. Kept tiny: the service's children import this module again when they start."""


def run() -> None:
    """Run the command that was given."""
    from vbdesk.privacy import protect_process

    protect_process()  # before anything is read: every command, and each of its children
    from vbdesk.cli.main import run as run_command

    run_command()


if __name__ == "__main__":
    run()
