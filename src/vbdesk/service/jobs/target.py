"""Target of an analysis, in every API version."""

from dataclasses import dataclass
from typing import Any, Self

from sqlalchemy import Row

from vbdesk.contract.catalog import CONDITION_SIGNS, MODEL_SIGNS, USE_CASE_MODELS, ModelName
from vbdesk.contract.jobs import JobType


@dataclass(frozen=True, slots=True)
class JobTarget:
    """A model or a sign, possibly under a name of the earlier form.

    Attributes:
        job_type: kind of target in the request.
        name: its name in the request.
        analysed: the model or sign that is analysed.
    """

    job_type: JobType
    name: str
    analysed: ModelName | str

    @classmethod
    def of(cls, job_type: JobType, name: str) -> Self:
        """Return the target with this name. Raises KeyError or ValueError when there is none."""
        match job_type:
            case JobType.MODEL:
                return cls(job_type, name, ModelName(name))
            case JobType.SIGN:
                return cls(job_type, name, name)  # a plugin's sign may have been removed since
            case JobType.USE_CASE:
                return cls(job_type, name, USE_CASE_MODELS[name])
            case JobType.CONDITION:
                return cls(job_type, name, CONDITION_SIGNS[name])

    @classmethod
    def of_row(cls, row: Row[Any]) -> Self:
        """Return the target of a stored job."""
        job_type = JobType(row.job_type)
        return cls.of(job_type, getattr(row, _COLUMNS[job_type]))

    @property
    def columns(self) -> dict[str, str]:
        """Columns of a job that store the target."""
        return {"job_type": self.job_type.value, _COLUMNS[self.job_type]: self.name}

    @property
    def sign_count(self) -> int:
        """Number of signs to pay for."""
        return len(MODEL_SIGNS[self.analysed]) if isinstance(self.analysed, ModelName) else 1


_COLUMNS = {
    JobType.MODEL: "model_name",
    JobType.SIGN: "sign_name",
    JobType.USE_CASE: "use_case",
    JobType.CONDITION: "condition",
}
