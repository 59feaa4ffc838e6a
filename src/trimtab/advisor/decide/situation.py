"""What a decision goes by, and the steps that may come of it."""

from collections.abc import Mapping
from datetime import datetime
from typing import Literal

from msgspec import Struct

from trimtab.advisor.api import (
    Item,
    PlatformStatus,
    Severity,
    Taking,
    TargetRef,
    VirtPlatformConfig,
)
from trimtab.advisor.plan.plan import PlatformPlan, Preview
from trimtab.advisor.plan.pools import PoolHealth
from trimtab.advisor.plan.profile import Draft
from trimtab.advisor.plan.rollback import RollbackRecord
from trimtab.kube.resources import Free

Want = Literal["draft", "plan", "live", "previews", "recorded"]
CHECK_S = 60.0
"""How often what was applied is looked at, though nothing tells of a change."""


class Trouble(Struct, frozen=True):
    """Why there is no plan: something is missing, or its making failed."""

    kind: Literal["prerequisite", "generation"]
    message: str


class SeenForDecision(Struct, frozen=True):
    """What was read for this decision: only what it asked for."""

    draft: Draft | Trouble | None = None
    plan: PlatformPlan | Trouble | None = None
    live: Mapping[TargetRef, Free | None] = {}
    health: Mapping[str, PoolHealth] = {}
    previews: Mapping[str, Preview] = {}
    record: RollbackRecord = RollbackRecord()


class ConfigSituation(Struct, frozen=True):
    config: VirtPlatformConfig
    now: datetime
    version: str
    impact: Severity | Literal[""] = ""
    """Of the profile, for objects without a plan."""
    seen: SeenForDecision = SeenForDecision()
    asked_at: datetime | None = None
    """When the API server last stored a new action or approval."""

    @property
    def status(self) -> PlatformStatus:
        return self.config.status

    @property
    def edited(self) -> bool:
        """Whether the spec changed since the phase was written."""
        return self.config.metadata.generation != self.status.observed_generation

    @property
    def asked_otherwise(self) -> bool:
        """Whether the plan was made for other options, or with other fields left to others."""
        spec, status = self.config.spec, self.status
        before = (status.applied_options, status.applied_ignore, status.applied_accepted)
        return (spec.options, spec.ignore, spec.accepted) != before


class Announcement(Struct, frozen=True):
    """Something to tell people: becomes an Event."""

    reason: str
    note: str
    warning: bool = False


class WriteStatus(Struct, frozen=True):
    """Store this status, then decide again."""

    status: PlatformStatus
    news: tuple[Announcement, ...] = ()


class StoreRecord(Struct, frozen=True):
    """Store this record before anything else happens; an empty one is deleted."""

    record: RollbackRecord


class CarryOut(Struct, frozen=True):
    """Carry out this item, which the status already calls InProgress."""

    item: Item
    force: bool = False
    """Take fields from other managers beyond those that were reviewed."""


class ReadMore(Struct, frozen=True):
    """Decide again with this in sight."""

    want: Want


class WaitForChange(Struct, frozen=True):
    """Nothing to do for so many seconds, or until something changes."""

    seconds: float | None = None


Step = WriteStatus | StoreRecord | CarryOut | ReadMore | WaitForChange


class Applied(Struct, frozen=True):
    """The write was made."""


class WriteRefused(Struct, frozen=True):
    """The API server does not take it; trying again would not help."""

    message: str


class Contested(Struct, frozen=True):
    """Others own fields that the reviewed plan did not speak of; nothing was written."""

    takes: tuple[Taking, ...]


Result = Applied | WriteRefused | Contested
