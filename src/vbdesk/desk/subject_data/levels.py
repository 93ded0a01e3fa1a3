"""The overall level of a recording's result."""

from functools import lru_cache

from pydantic import TypeAdapter

from vbdesk.contract.levels import Level, overall_level
from vbdesk.contract.results import ModelResult, Result, signals_of
from vbdesk.outbox.library.items import RecordingItem

_RESULT: TypeAdapter[Result] = TypeAdapter(Result)


def level_of(item: RecordingItem) -> Level | None:
    """The level of the recording's result; None without a result. Cached."""
    return None if item.result_json is None else _level(item.result_json)


@lru_cache(maxsize=20_000)
def _level(result_json: bytes) -> Level:
    result = _RESULT.validate_json(result_json)
    if isinstance(result, ModelResult):
        return result.summary.overall_level
    return overall_level(signal.level for signal in signals_of(result))
