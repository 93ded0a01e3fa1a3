"""Derivation of the overall level and the recommended action."""

import itertools

import pytest

from vbdesk.contract.levels import (
    FLAGGED_LEVELS,
    LEVEL_ORDER,
    Level,
    RecommendedAction,
    overall_level,
    recommended_action,
)

N, L, C, M, E, X = Level.NONE, Level.LOW, Level.CONSIDER, Level.MODERATE, Level.ELEVATED, Level.INCONCLUSIVE


@pytest.mark.parametrize(
    ("levels", "action"),
    [
        ([N, N], RecommendedAction.NONE),
        ([N, X], RecommendedAction.NONE),
        ([N, L, X], RecommendedAction.MONITOR),
        ([N, C, L], RecommendedAction.CONSIDER),
        ([C, C], RecommendedAction.REVIEW),
        ([C, N, C, C], RecommendedAction.REVIEW),
        ([M, N], RecommendedAction.REVIEW),
        ([M, C, E], RecommendedAction.ESCALATE),
        ([E, X], RecommendedAction.ESCALATE),
        ([X, X], RecommendedAction.INCONCLUSIVE),
        ([], RecommendedAction.INCONCLUSIVE),
    ],
)
def test_action_follows_the_table(levels, action):
    assert recommended_action(levels) is action


def test_the_action_table_is_correct_for_every_three_signals():
    for levels in itertools.product(Level, repeat=3):
        action = recommended_action(levels)
        if E in levels:
            assert action is RecommendedAction.ESCALATE
        elif M in levels or levels.count(C) >= 2:
            assert action is RecommendedAction.REVIEW
        elif C in levels:
            assert action is RecommendedAction.CONSIDER
        elif L in levels:
            assert action is RecommendedAction.MONITOR
        elif N in levels:
            assert action is RecommendedAction.NONE
        else:
            assert action is RecommendedAction.INCONCLUSIVE


def test_overall_level_is_the_highest_conclusive_one():
    assert overall_level([N, X, M, L]) is M
    assert overall_level([X, N]) is N
    assert overall_level([X]) is X
    assert [overall_level([level, N]) for level in LEVEL_ORDER] == list(LEVEL_ORDER)


def test_flagged_means_consider_or_more():
    assert {level for level in Level if level.flagged} == FLAGGED_LEVELS == {C, M, E}
