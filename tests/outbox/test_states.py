import itertools

import pytest

from vbdesk.outbox.library.states import EDGES, ON_THEIR_WAY, IllegalStateChange, OutboxState, check_move


def test_every_state_has_its_row():
    assert set(EDGES) == set(OutboxState)


@pytest.mark.parametrize(("before", "after"), list(itertools.product(OutboxState, OutboxState)))
def test_only_the_edges_of_the_table_are_walked(before, after):
    if after in EDGES[before]:
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
