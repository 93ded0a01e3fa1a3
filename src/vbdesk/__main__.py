"""`python -m vbdesk`. Kept tiny: analysis children re-import this module when they start."""

if __name__ == "__main__":
    from vbdesk.cli.main import run

    run()
