"""Let days pass for a library, as a desk that runs daily does."""

DAY_S = 86_400.0


def use_daily(library, days):
    """Let whole days pass by the library's clock; the desk runs on each."""
    for _ in range(days):
        library.store.clock.advance(DAY_S)
        library.days_of_use.count()
