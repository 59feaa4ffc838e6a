"""A cluster in memory for the advisor's decisions: two objects, a pool, inputs, other hands.

It carries out steps as the operator does, one at a time, so that tests can look between any
two of them, or stop there as if the process had died. The API server's part (who owns which
field) is played as far as decisions depend on it; the real one is for the system tests.
"""

from copy import deepcopy
from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec import structs

from trimtab.advisor.api import (
    MANAGER,
    Action,
    LoadAwareOptions,
    Options,
    Phase,
    PlatformStatus,
    Spec,
    Taking,
    TargetRef,
    VirtPlatformConfig,
)
from trimtab.advisor.decide.approval import REQUESTED_BY
from trimtab.advisor.decide.execution import acted
from trimtab.advisor.decide.phases import next_step, wants
from trimtab.advisor.decide.situation import (
    Announcement,
    Applied,
    CarryOut,
    ConfigSituation,
    Contested,
    ReadMore,
    Result,
    SeenForDecision,
    Step,
    StoreRecord,
    Trouble,
    WaitForChange,
    Want,
    WriteRefused,
    WriteStatus,
)
from trimtab.advisor.plan.plan import Preview, make_plan, plan_of, target_of
from trimtab.advisor.plan.pools import PoolHealth
from trimtab.advisor.plan.profile import DesiredObject, Draft
from trimtab.advisor.plan.rollback import RollbackRecord, leaving, releasing, restoring
from trimtab.kube.resources import Free, ObjectMeta

START = datetime(2026, 1, 1, tzinfo=UTC)
MACHINE = TargetRef(api_version="m/v1", kind="MachineConfig", name="psi")
DESCHEDULER = TargetRef(api_version="d/v1", kind="KubeDescheduler", name="cluster", namespace="d")
LIVE: Free = {
    "apiVersion": "d/v1",
    "kind": "KubeDescheduler",
    "metadata": {
        "name": "cluster",
        "namespace": "d",
        "managedFields": [
            {
                "manager": "kubectl",
                "operation": "Update",
                "fieldsV1": {"f:spec": {"f:mode": {}, "f:interval": {}}},
            }
        ],
    },
    "spec": {"mode": "Predictive", "interval": 3600},
}


class World:
    """One VirtPlatformConfig and everything around it."""

    def __init__(self, action: Action = "DryRun", **spec: Any) -> None:
        meta = ObjectMeta(name="load-aware-rebalancing", uid="u", generation=1)
        profile = "load-aware-rebalancing"
        self.config = VirtPlatformConfig(
            metadata=meta, spec=Spec(profile=profile, action=action, **spec)
        )
        self.now = START
        self.version = "1"
        self.objects: dict[TargetRef, Free] = {DESCHEDULER: deepcopy(LIVE)}
        self.record = RollbackRecord()
        self.limit = 5
        self.logic = "a"
        self.pool: PoolHealth = PoolHealth("ready", "ready")
        self.after_apply: PoolHealth = PoolHealth("ready", "ready")
        self.trouble: Trouble | None = None
        self.refused = ""
        self.refused_early = ""
        self.rivals: tuple[Taking, ...] = ()
        self.writes: list[TargetRef] = []
        self.statuses = 0
        self.news: list[Announcement] = []

    # What users and others do

    def edit(self, by: str = "admin", **spec: Any) -> None:
        """As admission does, who turns the action or names a plan is noted."""
        before, after = self.config.spec, structs.replace(self.config.spec, **spec)
        if after != before:
            meta = self.config.metadata
            meta = structs.replace(meta, generation=meta.generation + 1)
            names = after.approved_plan not in ("", before.approved_plan)
            if names or (after.action != before.action and after.action in ("Apply", "Rollback")):
                meta = structs.replace(meta, annotations={REQUESTED_BY: by})
            self.config = structs.replace(self.config, metadata=meta, spec=after)

    def hand(self, field: str, value: Any, manager: str = "kubectl-edit") -> None:
        """Somebody writes a field of the descheduler's spec; None removes it."""
        live = self.objects.get(DESCHEDULER)
        if live is None:
            return
        if value is None:
            live["spec"].pop(field, None)
        else:
            live["spec"][field] = value
        _own(live, manager, "Update", {field})

    def options(self, interval: int, *, psi: bool = True, node: int | None = None) -> None:
        chosen = LoadAwareOptions(
            descheduling_interval_seconds=interval, enable_psi_metrics=psi, eviction_limit_node=node
        )
        self.edit(options=Options(load_aware=chosen))

    def recreate(self) -> None:
        """Somebody deletes the object; what is advertised comes back, without a status."""
        meta = structs.replace(self.config.metadata, uid="v", generation=1, annotations={})
        spec = Spec(profile=self.config.spec.profile, action="Ignore")
        self.config = VirtPlatformConfig(metadata=meta, spec=spec)

    # What the profile wishes

    def draft(self) -> Draft | Trouble:
        if self.trouble is not None:
            return self.trouble
        given = self.config.spec.options
        chosen = (given.load_aware if given else None) or LoadAwareOptions()
        desired_objects = (self._machine(),) if chosen.enable_psi_metrics else ()
        return Draft(
            (*desired_objects, self._descheduler(chosen, bool(desired_objects))),
            {"limit": self.limit},
        )

    def _machine(self) -> DesiredObject:
        body: Free = {
            "apiVersion": "m/v1",
            "kind": "MachineConfig",
            "metadata": {"name": "psi"},
            "spec": {"kernelArguments": ["psi=1"]},
        }
        return DesiredObject("machine", body, ("spec.kernelArguments",), "High", "reboots", "will")

    def _descheduler(self, chosen: LoadAwareOptions, after: bool) -> DesiredObject:
        interval, node = chosen.descheduling_interval_seconds, chosen.eviction_limit_node
        spec = {"mode": "Automatic", "interval": interval, "limit": self.limit, "logic": self.logic}
        spec |= {} if node is None else {"node": node}
        body: Free = {
            "apiVersion": "d/v1",
            "kind": "KubeDescheduler",
            "metadata": {"name": "cluster", "namespace": "d"},
            "spec": spec,
        }
        fields = tuple(f"spec.{name}" for name in spec)
        depends = ("machine",) if after else ()
        severity = "Low" if DESCHEDULER in self.objects else "Medium"
        return DesiredObject("descheduler", body, fields, severity, "changes", "will", depends)  # type: ignore[arg-type]

    # What the operator does

    def situation(self) -> ConfigSituation:
        return ConfigSituation(
            config=self.config, now=self.now, version=self.version, impact="High"
        )

    def decide(self) -> tuple[ConfigSituation, Step]:
        s = self.situation()
        s = structs.replace(s, seen=self._see(s, *wants(s)))
        step = next_step(s)
        if isinstance(step, ReadMore):
            s = structs.replace(s, seen=self._see(s, step.want))
            step = next_step(s)
        return s, step

    def step(self) -> Step:
        """One decision, carried out."""
        s, step = self.decide()
        if isinstance(step, CarryOut):
            step = acted(s, step.item, self._act(step))
        match step:
            case WriteStatus(status, news):
                self.statuses += 1
                self.config = structs.replace(self.config, status=status)
                self.news += news
            case StoreRecord(record):
                self.record = record
        return step

    def run(self, most: int = 60) -> PlatformStatus:
        """Until there is nothing to do; an AssertionError if that does not come."""
        for _ in range(most):
            if isinstance(self.step(), WaitForChange):
                return self.config.status
        raise AssertionError(f"no end of steps in {self.config.status.phase}")

    def later(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)

    @property
    def phase(self) -> Phase | str:
        return self.config.status.phase

    def _see(self, s: ConfigSituation, *wanted: Want) -> SeenForDecision:
        seen = structs.replace(s.seen, record=self.record)
        for want in wanted:
            match want:
                case "draft":
                    seen = structs.replace(seen, draft=self.draft())
                case "plan":
                    seen = self._plan(s, seen)
                case "recorded":
                    found = {p.ref: self.objects.get(p.ref) for p in self.record.priors}
                    seen = structs.replace(seen, live=deepcopy(found))
                case "live":
                    live = {i.target_ref: self.objects.get(i.target_ref) for i in s.status.items}
                    seen = structs.replace(seen, live=deepcopy(live), health=self._health(s))
                case "previews":
                    seen = structs.replace(seen, previews=self._previews(s))
        return seen

    def _health(self, s: ConfigSituation) -> dict[str, PoolHealth]:
        return {i.name: self.pool for i in s.status.items if i.target_ref == MACHINE}

    def _plan(self, s: ConfigSituation, seen: SeenForDecision) -> SeenForDecision:
        live: dict[TargetRef, Free | None] = {
            prior.ref: deepcopy(self.objects.get(prior.ref)) for prior in self.record.priors
        }
        if s.status.reverse:
            items = leaving(self.record, (), live)
            return structs.replace(seen, plan=plan_of(items, live, {}, None), live=live)
        draft = self.draft()
        if isinstance(draft, Trouble):
            return structs.replace(seen, draft=draft, plan=draft)
        previews = {wanted.name: self._preview(wanted.desired) for wanted in draft.desired_objects}
        desired_targets = [target_of(wanted.desired) for wanted in draft.desired_objects]
        going = leaving(self.record, desired_targets, live)
        plan = make_plan(draft, previews, s.config.spec.options, going, live)
        health = {"machine": self.pool} if any(i.name == "machine" for i in plan.items) else {}
        live |= {target_of(w.desired): previews[w.name].live for w in draft.desired_objects}
        return structs.replace(seen, draft=draft, plan=plan, live=live, health=health)

    def _previews(self, s: ConfigSituation) -> dict[str, Preview]:
        return {i.name: self._preview(i.desired_state or {}) for i in s.status.items}

    def _preview(self, desired: Free) -> Preview:
        ref = target_of(desired)
        live = deepcopy(self.objects.get(ref))
        takes = () if live is None else self._claims(desired, live)
        return Preview(live, _applied(live, desired), takes, self.refused_early)

    def _claims(self, desired: Free, live: Free) -> tuple[Taking, ...]:
        found = [
            Taking(field=f"spec.{field}", manager=entry["manager"])
            for entry in live["metadata"].get("managedFields", ())
            for field in (name.removeprefix("f:") for name in entry["fieldsV1"]["f:spec"])
            if entry["manager"] != MANAGER
            and field in desired["spec"]
            and live["spec"].get(field) != desired["spec"][field]
        ]
        return (*found, *self.rivals)

    def _act(self, step: CarryOut) -> Result:
        item = step.item
        if self.refused:
            return WriteRefused(self.refused)
        live = self.objects.get(item.target_ref)
        if item.verb == "apply":
            takes = () if live is None else self._claims(item.desired_state or {}, live)
            if not step.force and not set(takes) <= set(item.takes):
                return Contested(takes)
            applied = _applied(live, item.desired_state or {})
            assert applied != live, "twice"
            self.objects[item.target_ref] = applied
        elif item.verb == "delete":
            assert live is not None, "deleted twice"
            del self.objects[item.target_ref]
        else:
            self._restore(item.target_ref)
        if item.target_ref == MACHINE:
            self.pool = self.after_apply
        self.writes.append(item.target_ref)
        return Applied()

    def _restore(self, ref: TargetRef) -> None:
        live, prior = self.objects[ref], self.record.of(ref)
        assert prior is not None
        for manager, patch in restoring(prior, live).items():
            for field, value in patch["spec"].items():
                if value is None:
                    live["spec"].pop(field, None)
                else:
                    live["spec"][field] = value
            _own(live, manager, "Update", set(patch["spec"]))
        entries = releasing(live)
        if entries is not None:
            live["metadata"]["managedFields"] = [e for e in entries if e]


def _applied(live: Free | None, desired: Free) -> Free:
    """Server-side apply: what is wanted is ours, what was ours and is not wanted goes."""
    after = deepcopy(live) if live is not None else deepcopy(desired)
    wanted = deepcopy(desired["spec"])
    for name in _owned(after, ours=True) - {f"f:{field}" for field in wanted}:
        if name not in _owned(after, ours=False):
            after["spec"].pop(name.removeprefix("f:"), None)
    entries = after["metadata"].get("managedFields", [])
    entries[:] = [e for e in entries if e["manager"] != MANAGER or e["operation"] != "Apply"]
    after["spec"] = {**after["spec"], **wanted}
    _own(after, MANAGER, "Apply", set(wanted))
    return after


def _owned(obj: Free, *, ours: bool) -> set[str]:
    entries = obj["metadata"].get("managedFields", ())
    mine = [e for e in entries if (e["manager"] == MANAGER) == ours]
    return {name for entry in mine for name in entry["fieldsV1"]["f:spec"]}


def _own(live: Free, manager: str, operation: str, fields: set[str]) -> None:
    """These fields belong to `manager` alone from now on."""
    entries = live["metadata"].setdefault("managedFields", [])
    for entry in entries:
        entry["fieldsV1"]["f:spec"] = {
            name: {}
            for name in entry["fieldsV1"]["f:spec"]
            if name.removeprefix("f:") not in fields
        }
    key = {"manager": manager, "operation": operation}
    mine = next((e for e in entries if key.items() <= e.items()), None)
    if mine is None:
        mine = {**key, "fieldsV1": {"f:spec": {}}}
        entries.append(mine)
    mine["fieldsV1"]["f:spec"] |= {f"f:{name}": {} for name in fields}
    entries[:] = [e for e in entries if e["fieldsV1"]["f:spec"]]
