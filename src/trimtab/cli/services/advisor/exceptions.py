"""`trimtab advisor ignore` and `accept`: what plans leave to others, and drift that may stay."""

from pathlib import Path
from typing import TYPE_CHECKING

from trimtab.advisor.api import Ignore, Options, VirtPlatformConfig
from trimtab.advisor.cluster.requests import ConfigRequests
from trimtab.advisor.guidance import exit_code
from trimtab.advisor.profiles.load_aware import LoadAware, chosen
from trimtab.cli.common.output import Flag, Json, emit, examples
from trimtab.cli.services.advisor.where import DEFAULT, HERE, AdvisorOptions, as_failure, talk
from trimtab.errors import ConfigError, TrimtabError
from trimtab.view.services.advisor import as_json, show_config
from trimtab.view.terminal import out, show_table

if TYPE_CHECKING:
    from trimtab.model.recorded.recording import ClusterRecording
    from trimtab.study.recorded.effect import Effect


IGNORE_EXAMPLES = examples(
    "trimtab advisor ignore --field spec.mode",
    "trimtab advisor ignore virt-higher-density --manager argocd-controller",
    "trimtab advisor ignore --field spec.mode --remove",
)
ACCEPT_EXAMPLES = examples(
    "trimtab advisor accept",
    "trimtab advisor accept --field spec.mode",
    "trimtab advisor accept --field spec.mode --remove",
)
Remove = Flag


def ignore(
    profile: str = DEFAULT,
    /,
    *,
    field: str = "",
    manager: str = "",
    item: str = "",
    remove: Remove = False,
    json: Json = False,
    where: AdvisorOptions = HERE,
) -> int:
    """Leave a field, or whatever a manager writes, to others: plans neither write nor compare it.

    It is stored in spec.ignore and shown in every plan, diff and status until it is removed.

    Parameters
    ----------
    profile
        Which profile.
    field
        Path of a field, as the plan's managed fields are written.
    manager
        A field manager, as kubectl get --show-managed-fields names it.
    item
        Only in this item of the plan.
    remove
        Take the field or the manager back into plans.
    """
    if bool(field) == bool(manager):
        raise TrimtabError("give either --field or --manager")
    rule = Ignore(field=field, manager=manager, item=item)
    config = talk(where, lambda requests: requests.ignore(profile, rule, remove=remove))
    return _shown(config, json)


def accept(
    profile: str = DEFAULT,
    /,
    *,
    field: tuple[str, ...] = (),
    remove: Remove = False,
    json: Json = False,
    where: AdvisorOptions = HERE,
) -> int:
    """Accept drift: the values that fields have now may stay, until they change again.

    It is stored in spec.accepted and shown in every plan, diff and status until it is removed.
    Nothing is written to the cluster.

    Parameters
    ----------
    profile
        Which profile.
    field
        Only this field, as the status names it; may be repeated.
    remove
        Accept them no longer: the plan sets them again.
    """

    async def ask(requests: ConfigRequests) -> VirtPlatformConfig:
        return await (requests.no_longer_accept if remove else requests.accept)(profile, field)

    return _shown(talk(where, ask), json)


def _shown(config: VirtPlatformConfig, json: bool) -> int:
    emit(config, json, show_config, as_json(config))
    return exit_code(config, pending=False)


# `trimtab advisor plan --recording`: what a plan would do to a recorded cluster.


def recording_for(path: Path) -> "ClusterRecording":
    """The recording, read before anybody is asked for a plan."""
    from trimtab.model.recorded.archive import read_recording

    try:
        return read_recording(path)
    except ConfigError as error:
        raise as_failure(error) from error


def effect_of(
    recording: "ClusterRecording | None", profile: str, options: Options | None
) -> "Effect | None":
    """What the options would do; None without a recording."""
    if recording is None:
        return None
    if profile != LoadAware.name:
        raise TrimtabError(
            f"--recording: it tells what {LoadAware.name} would do; {profile} moves no VMs"
        )
    from trimtab.cli.record.runs import RUNS, simulated
    from trimtab.study.execution.engines import engine_of
    from trimtab.study.recorded.effect import predicted_effect

    engine, seeds = engine_of(None, None), tuple(range(RUNS))
    try:
        return predicted_effect(
            recording, chosen(options), lambda questions: simulated(questions, seeds, engine)
        )
    except ConfigError as error:
        raise as_failure(error) from error


def show_effect(effect: "Effect | None", json: bool) -> None:
    """The verdict on the recording, the comparison, then the figures; JSON has them already."""
    if effect is None or json:
        return
    out.print()
    out.print(effect.verdict, markup=False)
    out.print(effect.words, markup=False)
    for note in effect.notes:
        out.print(f"Note: {note}.", markup=False)
    right = ["moves a day", "level", "overload h/day"]
    show_table(
        ["predicted", *right],
        [
            [
                line.name,
                f"{line.migrations[0]:.0f} ({line.migrations[1]:.0f}–{line.migrations[2]:.0f})",
                f"{line.level[0]:.1f} ({line.level[1]:.1f}–{line.level[2]:.1f})",
                f"{line.overload[0]:.2f}",
            ]
            for line in effect.lines
        ],
        right=right,
    )
