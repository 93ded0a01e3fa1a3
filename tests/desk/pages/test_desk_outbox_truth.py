"""Rows and banner of the Outbox never contradict the library."""

import re
from datetime import timedelta

from hypothesis import given, settings
from hypothesis import strategies as st
from known_recordings import NOON, recording

from vbdesk.desk.flow.sync_state import SyncState
from vbdesk.desk.outbox.actions import selection_of
from vbdesk.desk.outbox.banner import BannerAction, banner_of
from vbdesk.desk.outbox.rows import OutboxRow, RowAction, RowContext, Show
from vbdesk.desk.outbox.sorting import SortedOutbox
from vbdesk.desk.ui.cells import LevelCell, ProgressCell, StateCell
from vbdesk.outbox.library.consent import ConsentChange, ConsentEvent, ConsentKind, ConsentPolicy, SubjectConsent
from vbdesk.outbox.library.consent_gate import ConsentList
from vbdesk.outbox.library.items import Changes
from vbdesk.outbox.library.settings import ConsentRules, LibrarySettings, SendRule
from vbdesk.outbox.library.states import EDGES, Fix, OutboxState
from vbdesk.outbox.sync.connectivity import ConnectivityState, SyncStatus
from vbdesk.outbox.sync.forecast import Forecast
from vbdesk.outbox.sync.network import ManualNetwork

S = OutboxState

ACTIONS = {
    S.CHECKED: {RowAction.SEND},
    S.WAITING: {RowAction.CANCEL, RowAction.SEND_NOW, RowAction.NONE},
    S.UPLOADING: {RowAction.CANCEL, RowAction.NONE},
    S.SUBMITTED: {RowAction.NONE},
    S.RUNNING: {RowAction.NONE},
    S.DONE: {RowAction.OPEN},
    S.FAILED: {RowAction.RETRY},
    S.TIMED_OUT: {RowAction.RETRY},
    S.NEEDS_ATTENTION: {
        RowAction.RETRY,
        RowAction.REVIEW,
        RowAction.CORRECT,
        RowAction.DECIDE,
        RowAction.ACCOUNT,
        RowAction.NONE,
    },
    S.HANDED_OVER: {RowAction.TAKE_BACK},
}
"""What the button may do in each state."""

LEADS_TO = {
    RowAction.SEND: S.WAITING,
    RowAction.RETRY: S.WAITING,
    RowAction.CORRECT: S.WAITING,
    RowAction.TAKE_BACK: S.WAITING,
    RowAction.CANCEL: S.CHECKED,
}
"""The state into which a button moves a recording, along the table of edges."""

CLAIMS = (
    (r"in line", {S.WAITING}),
    (r"say so", {S.WAITING, S.CHECKED}),
    (r"service is asked|No answer came|in a bundle", {S.WAITING, S.UPLOADING}),
    (r"MB|Preparing|All of it is sent", {S.UPLOADING}),
    (r"in its queue", {S.SUBMITTED}),
    (r"is analysing it", {S.RUNNING}),
    (r"Another computer sends it", {S.HANDED_OVER}),
    (r"waits for you", {S.NEEDS_ATTENTION}),
    (r"can be sent again", {S.FAILED, S.TIMED_OUT, S.NEEDS_ATTENTION}),
    (r"no result", {S.TIMED_OUT, S.DONE}),
)
"""What words claim, and the states in which that can be true."""

ESTIMATES = {
    S.CHECKED: r"until you decide",
    S.WAITING: r"|until .*|waiting for the (network|service)|for an unmetered network|about .*|less than a minute",
    S.UPLOADING: r"|until you decide|waiting for the (network|service)|about .*|less than a minute",
    S.SUBMITTED: r"|until you decide|waiting for the (network|service)|about .*|less than a minute",
    S.RUNNING: r"|until you decide|waiting for the (network|service)|about .*|less than a minute",
    S.DONE: r"done .+",
    S.FAILED: r"",
    S.TIMED_OUT: r"",
    S.NEEDS_ATTENTION: r"until you decide",
    S.HANDED_OVER: r"",
}

statuses = st.one_of(
    st.sampled_from(list(ConnectivityState)).map(
        lambda reach: SyncStatus(
            None if reach is ConnectivityState.UNKNOWN else reach is ConnectivityState.CONNECTED,
            f"It is {reach}.",
            None,
            None,
            reach,
        )
    ),
    st.sampled_from([Fix.ENTER_KEY, Fix.ADD_CREDITS, Fix.SET_CLOCK, Fix.UNLOCK_KEYRING]).map(
        lambda fix: SyncStatus(True, f"Held: {fix}.", fix, 0, ConnectivityState.CONNECTED)
    ),
)


@st.composite
def recordings(draw):
    """Up to eight valid recordings of a library."""
    items = []
    for number in range(draw(st.integers(1, 8))):
        state = draw(st.sampled_from(list(S)))
        total = draw(st.sampled_from((0, 3_200_000))) if state is S.UPLOADING else 0
        asked = state is S.HANDED_OVER or (state in (S.WAITING, S.UPLOADING, S.NEEDS_ATTENTION) and draw(st.booleans()))
        items.append(
            recording(
                f"take-{number}",
                state,
                recorded_at=NOON - timedelta(minutes=number),
                fix=draw(st.sampled_from([None, *Fix])) if state is S.NEEDS_ATTENTION else None,
                bytes_sent=draw(st.integers(0, total)),
                bytes_total=total,
                asked=asked,
                bundle_id="b-1" if state is S.HANDED_OVER or (asked and draw(st.booleans())) else None,
                released=draw(st.booleans()),
                fault=draw(st.sampled_from([None, "Somebody changed it."])) if state is S.NEEDS_ATTENTION else None,
            )
        )
    return items


@st.composite
def circumstances(draw):
    items = draw(recordings())
    rules = LibrarySettings(send_rule=draw(st.sampled_from(list(SendRule))), paused=draw(st.booleans()))
    done_in_s = {item.take_id: draw(st.floats(0, 9000)) for item in items if draw(st.booleans())}
    return RowContext(
        now=NOON,
        status=draw(statuses),
        settings=rules,
        metered=draw(st.sampled_from((None, True, False))),
        forecast=draw(st.sampled_from((None, Forecast(len(items), 400.0, done_in_s), Forecast(len(items), None)))),
        arranged=SortedOutbox().after(Changes(1, items, [])),
    )


@settings(max_examples=400, deadline=None)
@given(circumstances())
def test_a_row_never_says_more_than_its_recording(context):
    for item in context.arranged.items.values():
        row = OutboxRow(item, context)
        _, mark, happening, estimate, act = row.cells
        assert mark == StateCell(item.state)
        assert row.action in ACTIONS[item.state]
        assert bool(act.text) is (row.action is not RowAction.NONE)
        assert re.fullmatch(ESTIMATES[item.state], estimate.text), (item.state, estimate.text)
        for claim, states in CLAIMS:
            assert item.state in states or not re.search(claim, happening.text), (item.state, happening.text)
        assert happening.text
        assert isinstance(happening, LevelCell) is (item.state is S.DONE)
        if isinstance(happening, ProgressCell):
            assert 0 <= happening.share == item.bytes_sent / item.bytes_total <= 1


@settings(max_examples=400, deadline=None)
@given(circumstances())
def test_no_button_offers_what_the_library_would_refuse(context):
    for item in context.arranged.items.values():
        action = OutboxRow(item, context).action
        if action in LEADS_TO:
            assert LEADS_TO[action] in EDGES[item.state]
        if item.asked:
            assert action is not RowAction.CANCEL
        if item.fault:
            assert action is RowAction.NONE
        choice = selection_of([item], context)
        assert not (choice.cancel or choice.delete) or not item.asked
        assert not choice.delete or item.state not in (S.UPLOADING, S.SUBMITTED, S.RUNNING, S.HANDED_OVER)
        assert set(choice.undoable) <= set(choice.delete)


@settings(max_examples=400, deadline=None)
@given(circumstances())
def test_the_banner_names_the_cause_that_holds_the_line_and_no_other(context):
    figures = context.figures()
    banner = banner_of(figures, context)
    moving = figures.waiting + figures.uploading + figures.running
    if context.status.on_hold is not None:
        assert banner.sentence == context.status.sentence
        assert banner.action in (BannerAction.ACCOUNT, BannerAction.UNLOCK, BannerAction.TRY_NOW)
    elif context.settings.paused:
        assert banner.action is BannerAction.GO_ON
    elif not moving:
        assert banner is None
    elif context.status.connected is False:
        assert banner.sentence == context.status.sentence
        assert banner.action is {
            ConnectivityState.OFFLINE: BannerAction.NONE,
            ConnectivityState.PORTAL: BannerAction.LOG_IN,
        }.get(context.status.connectivity, BannerAction.TRY_NOW)
    else:
        assert banner.action in (BannerAction.SEND_NOW, BannerAction.PAUSE)
    assert banner is None or bool(banner.action_text) is (banner.action is not BannerAction.NONE)


@settings(max_examples=300, deadline=None)
@given(circumstances())
def test_an_estimate_in_time_is_given_only_to_what_moves(context):
    stands = context.status.on_hold is not None or context.status.connected is False
    for item in context.arranged.items.values():
        estimate = OutboxRow(item, context).cells[3].text
        if re.match("about|less than", estimate):
            assert not stands
            assert item.state in (S.WAITING, S.UPLOADING, S.SUBMITTED, S.RUNNING)
            assert item.state is not S.WAITING or not context.settings.paused


def test_a_mark_stands_at_what_a_hand_has_to_let_go():
    items = [recording("a", released=True), recording("b", released=False)]
    context = RowContext(
        NOON,
        SyncStatus(True, "Connected.", None, 3, ConnectivityState.CONNECTED),
        LibrarySettings(send_rule=SendRule.BY_HAND),
        arranged=SortedOutbox().after(Changes(1, items, [])),
    )
    assert [OutboxRow(item, context).action for item in items] == [RowAction.CANCEL, RowAction.SEND_NOW]
    banner = banner_of(context.figures(), context)
    assert banner.sentence == "1 recording waits until you send it. 1 other is on the way."


def test_only_what_can_go_is_counted_in_line():
    """The first and the third have no consent: they wait for a person, not in line."""
    given = ConsentEvent("e", "agreed", ConsentChange.GIVEN, ConsentKind.CLINICAL, NOON - timedelta(days=9))
    consents = ConsentList(ConsentRules(policy=ConsentPolicy.REQUIRED), {"agreed": SubjectConsent((given,))})
    items = [
        recording(str(place), group_id=group_id, recorded_at=NOON - timedelta(hours=9 - place))
        for place, group_id in enumerate(("other", "agreed", "other", "agreed"))
    ]
    context = RowContext(
        NOON,
        SyncStatus(True, "Connected.", None, 3, ConnectivityState.CONNECTED),
        arranged=SortedOutbox().after(Changes(1, items, [])),
        consents=consents,
    )
    told = [OutboxRow(item, context).cells[2].text for item in items]
    assert (told[1], told[3]) == ("Next in line.", "Second in line.")
    assert all("requires it" in words for words in (told[0], told[2]))
    figures = context.figures()
    assert (figures.waiting, figures.attention) == (2, 2)
    sentence = banner_of(figures, context).sentence
    assert sentence.startswith("2 recordings on their way.")
    assert sentence.endswith("2 recordings wait for consent and are not sent.")
    assert context.listed(Show.ATTENTION) == ["0", "2"]
    assert context.listed(Show.ON_THEIR_WAY) == ["1", "3"]
    assert len(context.listed(Show.ALL)) == 4


def test_what_a_hand_has_to_let_go_is_not_counted_in_line():
    items = [
        recording(name, released=name == "b", recorded_at=NOON - timedelta(hours=9 - place))
        for place, name in enumerate("ab")
    ]
    context = RowContext(
        NOON,
        SyncStatus(True, "Connected.", None, 3, ConnectivityState.CONNECTED),
        LibrarySettings(send_rule=SendRule.BY_HAND),
        arranged=SortedOutbox().after(Changes(1, items, [])),
    )
    assert OutboxRow(items[1], context).cells[2].text == "Next in line."


def test_the_window_counts_what_is_held_back_as_attention():
    sync = SyncState(ManualNetwork())
    sync.set_counts({**dict.fromkeys(S, 0), S.WAITING: 3, S.NEEDS_ATTENTION: 1}, LibrarySettings(), held_back=2)
    assert (sync.on_their_way, sync.need_attention) == (1, 3)
