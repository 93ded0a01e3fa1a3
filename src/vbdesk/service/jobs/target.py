"""What a job is to be analysed for, in every form of the interface."""

from dataclasses import dataclass
from typing import Any, Self

from sqlalchemy import Row

from vbdesk.contract.catalog import CONDITION_SIGNS, MODEL_SIGNS, USE_CASE_MODELS, ModelName
from vbdesk.contract.jobs import JobType


@dataclass(frozen=True, slots=True)
class Target:
    """A model, a sign, or one of them under a name of the earlier form.

    Attributes:
        job_type: which form was asked for.
        name: the name under that form.
        analysed: the model or sign that answers it.
    """

    job_type: JobType
    name: str
    analysed: ModelName | str

    @classmethod
    def of(cls, job_type: JobType, name: str) -> Self:
        """The target of this name. Raises KeyError or ValueError when there is none."""
        match job_type:
            case JobType.MODEL:
                return cls(job_type, name, ModelName(name))
            case JobType.SIGN:
                return cls(job_type, name, name)  # one of the lab's own may be gone since
            case JobType.USE_CASE:
                return cls(job_type, name, USE_CASE_MODELS[name])
            case JobType.CONDITION:
                return cls(job_type, name, CONDITION_SIGNS[name])

    @classmethod
    def of_row(cls, row: Row[Any]) -> Self:
        """The target of a stored job."""
        job_type = JobType(row.job_type)
        return cls.of(job_type, getattr(row, _COLUMNS[job_type]))

    @property
    def columns(self) -> dict[str, str]:
        """The job's columns that say it."""
        return {"job_type": self.job_type.value, _COLUMNS[self.job_type]: self.name}

    @property
    def sign_count(self) -> int:
        """Signs to pay for."""
        return len(MODEL_SIGNS[self.analysed]) if isinstance(self.analysed, ModelName) else 1


_COLUMNS = {
    JobType.MODEL: "model_name",
    JobType.SIGN: "sign_name",
    JobType.USE_CASE: "use_case",
    JobType.CONDITION: "condition",
}
