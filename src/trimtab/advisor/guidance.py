"""What a phase means and what to do next, for people who meet it for the first time."""

from msgspec import Struct

from trimtab.advisor.api import Phase, VirtPlatformConfig

MOVING: frozenset[str] = frozenset(("", "Pending", "Drafting", "InProgress", "RollingBack"))
"""Phases that go on by themselves."""
WRONG: frozenset[str] = frozenset(("PrerequisiteFailed", "Failed", "CompletedWithErrors"))


class Guide(Struct, frozen=True):
    meaning: str
    next: str


PHASES: dict[Phase, Guide] = {
    "Pending": Guide("It was seen and will be planned.", "Wait a moment."),
    "Drafting": Guide("The plan is being made.", "Wait a moment."),
    "PrerequisiteFailed": Guide(
        "Something is missing, or an option cannot be honoured here; nothing was changed.",
        "Do what the message says; it is looked at again by itself.",
    ),
    "ReviewRequired": Guide(
        "A plan waits for somebody to look at it; nothing was changed.",
        "Read it (advisor diff), then approve it (advisor approve, or action: Apply).",
    ),
    "InProgress": Guide(
        "Items are applied one after another, each in effect before what depends on it.",
        "Watch it (advisor status --watch); action: Ignore stops before the next item.",
    ),
    "Completed": Guide(
        "Everything is as planned, and watched.", "Nothing; advisor rollback takes it back."
    ),
    "CompletedWithErrors": Guide(
        "Some items failed and the policy was to go on.",
        "Read the items' messages, remove the cause, then plan again.",
    ),
    "CompletedWithUpgrade": Guide(
        "A newer operator would plan differently; what was applied stays.",
        "Plan again (action: DryRun) to see the difference.",
    ),
    "Failed": Guide(
        "An item failed, or the cluster changed after the plan was made; the rest was not done.",
        "Read the message, remove the cause, then plan again.",
    ),
    "Drifted": Guide(
        "Somebody changed what the plan had set; the items say which field and who.",
        "Plan again and approve, or undo the change by hand; then it is Completed again.",
    ),
    "Ignored": Guide(
        "Nobody looks at it; resources stay as they are.", "Plan it (action: DryRun) to begin."
    ),
    "RollingBack": Guide("Values from before are put back, in reverse order.", "Watch it."),
    "RolledBack": Guide(
        "Everything is as it was before, under its former owners.",
        "Nothing; plan again to start over.",
    ),
}


def exit_code(config: VirtPlatformConfig, pending: bool) -> int:
    """0 nothing to do, 2 changes wait for somebody, 1 something is wrong."""
    phase = config.status.phase
    if phase in WRONG:
        return 1
    waits = ("ReviewRequired", "Drifted", "CompletedWithUpgrade")
    return 2 if phase in waits or (phase in MOVING and pending) else 0


def told(config: VirtPlatformConfig) -> str:
    """The message of the condition that is true for the phase."""
    for condition in config.status.conditions:
        if condition.type == config.status.phase and condition.status == "True":
            return condition.message
    return ""
