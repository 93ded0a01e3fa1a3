import itertools

import pytest

from vbdesk.outbox.library.states import EDGES, ON_THEIR_WAY, IllegalStateChange, OutboxState, check_move


def test_every_state_has_its_row():
    assert set(EDGES) == set(OutboxState)


LEGAL = {
    "checked": "waiting",
    "waiting": "uploading submitted needs_attention checked handed_over",
    "handed_over": "waiting submitted",
    "uploading": "submitted waiting needs_attention checked handed_over",
    "submitted": "running done failed timed_out needs_attention",
    "running": "done failed timed_out needs_attention",
    "done": "",
    "failed": "waiting",
    "timed_out": "waiting",
    "needs_attention": "waiting checked",
}
"""What may follow each state: written here a second time, so that a wrong edge of the table is noticed."""


@pytest.mark.parametrize(("before", "after"), list(itertools.product(OutboxState, OutboxState)))
def test_only_legal_changes_are_allowed(before, after):
    if after in LEGAL[before].split():
        check_move(before, after)
    else:
        with pytest.raises(IllegalStateChange, match="cannot become"):
            check_move(before, after)


def test_every_state_but_done_can_still_come_to_a_result():
    for state in OutboxState:
        reached = {state}
        for _ in OutboxState:
            reached |= {after for before in reached for after in EDGES[before]}
        assert OutboxState.DONE in reached


def test_nothing_leaves_done():
    assert EDGES[OutboxState.DONE] == frozenset()
    assert OutboxState.DONE not in ON_THEIR_WAY
