"""Rules of the moment: whether the room is quiet enough, and how much speech there was so far."""

import tomllib
from functools import cache
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from vbdesk.capture.meter import Levels
from vbdesk.resource_files import resource


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class RoomRules(_Strict):
    """When a room is quiet enough."""

    seconds: Annotated[float, Field(gt=0)]
    noise_limit_dbfs: float
    silent_dbfs: float


class SpeechRules(_Strict):
    """What counts as speech while recording."""

    over_floor_db: float
    at_least_dbfs: float
    unknown_floor_dbfs: float

    def heard(self, levels: Levels) -> bool:
        """Whether somebody speaks now, judged by level alone; the check afterwards is exact."""
        floor = self.unknown_floor_dbfs if levels.noise_floor_dbfs is None else levels.noise_floor_dbfs
        return levels.rms_dbfs >= max(self.at_least_dbfs, floor + self.over_floor_db)


class LiveRules(_Strict):
    """Both."""

    room: RoomRules
    speech: SpeechRules


@cache
def live_rules() -> LiveRules:
    """The rules in resources/desk/room.toml."""
    return LiveRules.model_validate(tomllib.loads(resource("desk", "room.toml").read_text(encoding="utf-8")))
