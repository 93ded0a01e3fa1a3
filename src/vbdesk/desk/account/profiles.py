"""The profiles of this computer: what Account shows of them, and their changes."""

from dataclasses import dataclass

from vbdesk.desk.flow.commands import Command, Done
from vbdesk.desk.flow.context import DeskContext
from vbdesk.desk.flow.reads import Read
from vbdesk.desk.flow.tasks import TaskContext
from vbdesk.desk.flow.topics import Changed
from vbdesk.language import _
from vbdesk.outbox.library.managed_policy import MANAGED
from vbdesk.outbox.profiles.profiles import ProfileStore


@dataclass(frozen=True, slots=True)
class ProfileLine:
    """One profile in the list; `suggested_name` is a better name where the present one is an address.

    Attributes:
        here: its service is on this computer.
        managed: the organisation has set its name.
    """

    profile_id: str
    name: str
    where: str
    account: str
    in_use: bool
    suggested_name: str | None = None
    here: bool = False
    managed: bool = False


@dataclass(frozen=True)
class ProfilesRead(Read[tuple[ProfileLine, ...]]):
    """The list of profiles."""

    topics = frozenset({Changed.SETTINGS})

    def here(self, context: DeskContext, before: object, task: TaskContext) -> tuple[ProfileLine, ...]:  # noqa: D102
        profiles = ProfileStore(context.ports.config_dir).all()
        return tuple(
            ProfileLine(
                profile.profile_id,
                profile.shown_name,
                _("The service on this computer") if profile.kind == "local" else profile.base_url or "",
                profile.account_id,
                profile.profile_id == context.profile.profile_id,
                profile.suggested_name(other.name for other in profiles if other is not profile),
                profile.kind == "local",
                context.ports.policy.name_for(profile.base_url) is not None,
            )
            for profile in profiles
        )


@dataclass(frozen=True)
class RenameProfile(Command):
    """Give a profile another name; nothing else of it changes. Finds all profiles."""

    profile_id: str
    name: str

    def do(self, context: DeskContext, task: TaskContext) -> Done:  # noqa: D102
        store = ProfileStore(context.ports.config_dir)
        profile = store.get(self.profile_id)
        if profile is not None and context.ports.policy.name_for(profile.base_url) is not None:
            raise ValueError(MANAGED)
        store.rename(self.profile_id, self.name)
        return Done(touched=frozenset({Changed.SETTINGS}), found=store.all())


@dataclass(frozen=True)
class RemoveProfile(Command):
    """Remove a profile and its key, unless it is open; its recordings stay on this computer."""

    profile_id: str

    def do(self, context: DeskContext, task: TaskContext) -> Done:  # noqa: D102
        store = ProfileStore(context.ports.config_dir)
        profile = store.get(self.profile_id)
        if profile is not None and self.profile_id != context.profile.profile_id:
            store.remove(self.profile_id, context.ports.vault(profile.secrets))
        return Done(touched=frozenset({Changed.SETTINGS}))
