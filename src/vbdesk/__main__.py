"""`vbdesk`, `vbdesk-desk`, `python -m vbdesk`. Kept tiny: the service's children import it when they start."""


def run() -> None:
    """Run the command that was given."""
    import sys

    from vbdesk.own_process import CHILD_MODULES, RUN_MODULE, is_frozen
    from vbdesk.privacy import protect_process

    protect_process()  # before anything is read: every command, and each of its children
    if is_frozen():
        from multiprocessing import freeze_support

        freeze_support()
        if sys.argv[1:2] == [RUN_MODULE] and sys.argv[2:3] and sys.argv[2] in CHILD_MODULES:
            import runpy

            module = sys.argv[2]
            sys.argv = [module, *sys.argv[3:]]
            runpy.run_module(module, run_name="__main__")
            return
    from vbdesk.cli.main import run as run_command

    run_command()


def run_desk() -> None:
    """Open the window; on Windows without a console, where an error is shown in a message box."""
    import sys

    sys.argv[1:1] = ["desk"]
    if sys.stderr is not None:
        run()
        return
    from vbdesk.cli.without_console import explaining_in_a_box

    with explaining_in_a_box():
        run()


if __name__ == "__main__":
    run()
