"""Plans for people: coloured diffs, a summary line, tables of configs and of their history."""

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import structs
from rich.text import Text

from trimtab.advisor.api import HistoryLine, Item, PlatformStatus, VirtPlatformConfig
from trimtab.advisor.decide.accepted_drift import shown
from trimtab.advisor.decide.history import PastPlan
from trimtab.advisor.guidance import PHASES, told
from trimtab.advisor.plan.diff import changing, has_changes
from trimtab.advisor.plan.profile import PlatformProfile
from trimtab.advisor.plan.summary import PlanSummary, summarise
from trimtab.view.terminal import out, show_table

_COLOURS = {"+": "green", "-": "red", "@": "cyan"}
_MARKS = {"Pending": "·", "InProgress": "▸", "Completed": "✓", "Failed": "✗"}
_SEVERITY = {"Low": "green", "Medium": "yellow", "High": "red"}


def coloured(diff: str) -> Text:
    """A unified diff: additions green, removals red, hunks cyan, headers bold."""
    text = Text()
    for number, line in enumerate(diff.splitlines()):
        style = "bold" if number < 2 else _COLOURS.get(line[:1], "")
        text.append(f"{line}\n", style=style)
    return text


def show_plan(
    items: Sequence[Item], warnings: Sequence[str], title: str, *, everything: bool = False
) -> None:
    """Each item with its impact, its warnings and its diff; then the summary."""
    for item in items:
        if everything or has_changes(item.diff):
            _show_item(item)
    for warning in warnings:
        out.print(Text(f"! {warning}", style="yellow"))
    for line in exceptions(items):
        out.print(Text(line, style="yellow"))
    out.print(Text(f"{title}: {summarise(items)}", style="bold"))


def exceptions(items: Iterable[Item]) -> list[str]:
    """What the items leave to others, a line each: a plan never keeps it to itself."""
    ignored = [
        f"ignored: {item.name}: {each.field}"
        + (f", which manager {each.manager} owns" if each.manager else "")
        for item in items
        for each in item.ignored
    ]
    accepted = [
        f"accepted: {item.name}: {each.field} stays {shown(each)}"
        for item in items
        for each in item.accepted
    ]
    return ignored + accepted


def as_of(status: PlatformStatus) -> str:
    """When the operator last compared the plan with the cluster."""
    return f"as of {status.looked_at:%Y-%m-%d %H:%M:%S} UTC" if status.looked_at else "as of -"


def _show_item(item: Item) -> None:
    severity = str(item.impact_severity) or "Low"
    head = Text.assemble(
        (item.name, "bold"), "  ", (severity, _SEVERITY[severity]), f"  {item.impact}"
    )
    out.print(head)
    out.print(Text(f"  {item.message}"))
    if item.depends_on:
        out.print(Text(f"  after: {', '.join(item.depends_on)}", style="dim"))
    for taking in item.takes:
        out.print(Text(f"  takes {taking.field} from {taking.manager}", style="yellow"))
    for warning in item.warnings:
        out.print(Text(f"  ! {warning}", style="yellow"))
    for reason in changing(item):
        out.print(Text.assemble(("  why ", "dim"), f"{reason.field}: {reason.why}"))
    out.print(coloured(item.diff))


def show_diffs(items: Sequence[Item]) -> None:
    """The diffs, which `patch` would take; nothing where nothing changes but what is ignored."""
    for line in exceptions(items):
        out.print(Text(f"# {line}", style="yellow"))
    for item in items:
        if has_changes(item.diff):
            for reason in changing(item):
                out.print(Text(f"# {reason.field}: {reason.why}", style="dim"))
            out.print(coloured(item.diff), end="")


def show_configs(configs: Sequence[VirtPlatformConfig]) -> None:
    columns = ["NAME", "ACTION", "PHASE", "IMPACT", "PLAN", "MESSAGE"]
    rows = [
        (
            config.metadata.name,
            config.spec.action,
            config.status.phase,
            config.status.impact_severity,
            config.status.plan_id,
            told(config),
        )
        for config in configs
    ]
    show_table(columns, rows, whole=["PLAN"], drop=["PLAN", "IMPACT", "ACTION"])


def show_config(config: VirtPlatformConfig) -> None:
    """One config: where it stands, item by item, and what to do next."""
    status = config.status
    out.print(Text.assemble((config.metadata.name, "bold"), f"  {status.phase}  {told(config)}"))
    for item in status.items:
        mark = _MARKS.get(item.state, "?")
        out.print(Text(f"  {mark} {item.name}: {item.message or item.state}"))
    for line in exceptions(status.items):
        out.print(Text(f"  {line}", style="yellow"))
    if status.approval is not None and status.approval.by:
        out.print(Text(f"  plan {status.approval.plan_id} approved by {status.approval.by}"))
    for warning in status.warnings:
        out.print(Text(f"  ! {warning}", style="yellow"))
    if status.phase:
        out.print(Text(f"  next: {PHASES[status.phase].next}", style="dim"))


def show_history(events: Sequence[HistoryLine]) -> None:
    columns = ["TIME", "WHAT", "PLAN", "BY", "OUTCOME"]
    rows = [(_time(e), e.what, e.plan_id, e.by, e.outcome) for e in events]
    show_table(columns, rows, whole=["TIME", "PLAN"], drop=["PLAN", "BY"])


def show_past_plans(starts: Sequence[PastPlan]) -> None:
    """What a plan changed at each of its starts; what is no diff is a comment."""
    for plan in starts:
        by = f", approved by {plan.by}" if plan.by else ""
        at = plan.at.strftime("%Y-%m-%d %H:%M:%S") if plan.at else ""
        out.print(Text(f"# plan {plan.plan_id} of {plan.name}, started {at}{by}", style="dim"))
        out.print(Text(f"# {plan.outcome}", style="dim"))
        out.print(coloured(plan.diff), end="")


def _time(event: HistoryLine) -> str:
    return event.at.strftime("%Y-%m-%d %H:%M:%S") if event.at else ""


def show_profile(profile: PlatformProfile, options: Sequence[tuple[str, str, str]]) -> None:
    """What a profile does, and its options with defaults and meaning."""
    out.print(Text(profile.name, style="bold"))
    out.print(Text(f"  {profile.description}"))
    out.print(Text(f"  impact {profile.impact_summary}"))
    out.print(Text("  writes " + ", ".join(str(ref) for ref in profile.targets())))
    if needs := profile.needs(None):
        out.print(Text("  needs  " + ", ".join(need.resource.kind for need in needs)))
    if options:
        out.print()
        show_table(["OPTION", "DEFAULT", "MEANING"], options)


def show_phases() -> None:
    rows = [(phase, guide.meaning, guide.next) for phase, guide in PHASES.items()]
    show_table(["PHASE", "MEANING", "NEXT"], rows)


def as_json(config: VirtPlatformConfig) -> dict[str, Any]:
    """A plan for programs: the same as the table shows."""
    status = config.status
    return {
        "name": config.metadata.name,
        "action": config.spec.action,
        "phase": status.phase,
        "message": told(config),
        "planId": status.plan_id,
        "asOf": status.looked_at,
        "summary": plain(summarise(status.items)),
        "warnings": status.warnings,
        "items": status.items,
    }


def plain(summary: PlanSummary) -> dict[str, Any]:
    return structs.asdict(summary) | {"text": str(summary)}
