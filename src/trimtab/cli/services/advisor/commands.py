"""`trimtab advisor`: VirtPlatformConfigs from preview to drift and back; kubectl can do it too.

Exit codes are those of a planning tool: 0 nothing to do, 2 changes pending, 1 an error.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from trimtab.advisor.api import VirtPlatformConfig
from trimtab.advisor.cluster.offline import plan_offline, read_directory
from trimtab.advisor.cluster.requests import ConfigRequests
from trimtab.advisor.decide.history import past_plans
from trimtab.advisor.guidance import PHASES, exit_code, told
from trimtab.advisor.plan.summary import summarise
from trimtab.advisor.profiles.eviction_limits import all_in_words
from trimtab.advisor.profiles.registry import built_in
from trimtab.cli.common.output import Flag, Json, agreed, emit, examples
from trimtab.cli.services.advisor.exceptions import (
    ACCEPT_EXAMPLES,
    IGNORE_EXAMPLES,
    accept,
    effect_of,
    ignore,
    recording_for,
    show_effect,
)
from trimtab.cli.services.advisor.where import (
    DEFAULT,
    HERE,
    AdvisorOptions,
    as_failure,
    exceptions_of,
    options_of,
    read_config,
    talk,
)
from trimtab.errors import ConfigError, TrimtabError
from trimtab.install.advisor.crd import described
from trimtab.view.services.advisor import (
    as_json,
    as_of,
    plain,
    show_config,
    show_configs,
    show_diffs,
    show_history,
    show_past_plans,
    show_phases,
    show_plan,
    show_profile,
)
from trimtab.view.terminal import err, out, show_json

if TYPE_CHECKING:
    from trimtab.model.recorded.recording import ClusterRecording
    from trimtab.study.recorded.effect import Effect

app = App(name="advisor", help="Configure a cluster for VMs: preview, approve, apply, go back.")

File = Annotated[
    Path | None, Parameter(name=("--file", "-f"), allow_leading_hyphen=True, negative=())
]


@app.command(
    help_epilogue=examples(
        "trimtab advisor plan",
        "trimtab advisor plan -f k8s/advisor/samples/loadaware_sample.yaml",
        "trimtab advisor plan virt-higher-density --json | jq .summary",
        "trimtab advisor plan --manifests saved/ --file config.yaml",
        "trimtab advisor plan -f virtplatformconfig.yaml --recording my.trimtab",
    )
)
def plan(
    profile: str = DEFAULT,
    /,
    *,
    file: File = None,
    manifests: Path | None = None,
    recording: Path | None = None,
    json: Json = False,
    where: AdvisorOptions = HERE,
) -> int:
    """Look again and show what a profile would change. Exits with 2 if there is something.

    Nothing is changed. Live, the operator drafts the plan as of now: a profile that nobody
    looked at yet becomes a preview (action DryRun). With --manifests the same plan is made from
    saved manifests.

    Parameters
    ----------
    profile
        Which profile; `trimtab advisor explain` lists them.
    file
        A VirtPlatformConfig whose options are wanted; live it is stored as a preview.
    manifests
        A directory with the output of kubectl get -o yaml, CRDs included; no cluster is asked.
    recording
        A recording of the cluster: what the plan would do to it is simulated and shown.
    """
    recorded = None if recording is None else recording_for(recording)
    if manifests is not None:
        return _plan_offline(profile, file, manifests, recorded, json)
    given = None if file is None else read_config(file)

    async def ask(requests: ConfigRequests) -> VirtPlatformConfig:
        return await (requests.plan(profile) if given is None else requests.plan_file(given))

    config = talk(where, ask)
    effect = effect_of(recorded, config.spec.profile or profile, config.spec.options)
    code = _show(config, json, effect)
    show_effect(effect, json)
    return code


def _plan_offline(
    profile: str,
    file: Path | None,
    manifests: Path,
    recorded: "ClusterRecording | None",
    json: bool,
) -> int:
    config = read_config(file) if file else {}
    name = (config.get("spec") or {}).get("profile", profile)
    try:
        made = plan_offline(
            built_in().get(name),
            options_of(config),
            read_directory(manifests),
            *exceptions_of(config),
        )
    except ConfigError as error:
        raise as_failure(error) from error
    summary = summarise(made.items)
    document = {"name": name, "planId": made.plan_id, "summary": plain(summary)}
    document |= {"warnings": made.warnings, "items": made.items}
    effect = effect_of(recorded, name, options_of(config))
    document |= {} if effect is None else {"effect": effect}
    title = f"plan {made.plan_id}"
    emit(made, json, lambda made: show_plan(made.items, made.warnings, title), document)
    show_effect(effect, json)
    return 2 if summary.pending else 0


def _show(config: VirtPlatformConfig, json: bool, effect: "Effect | None" = None) -> int:
    """A plan, or why there is none."""
    status = config.status
    if json:
        show_json(as_json(config) | ({} if effect is None else {"effect": effect}))
    elif status.phase in ("PrerequisiteFailed", "Failed"):
        show_config(config)  # the reason; its items are those of an earlier plan
    else:
        title = f"plan {status.plan_id or '-'} {status.phase}, {as_of(status)}"
        show_plan(status.items, status.warnings, title)
        if status.phase:
            err.print(f"next: {PHASES[status.phase].next}", markup=False)
    return exit_code(config, summarise(status.items).pending)


@app.command(help_epilogue=examples("trimtab advisor diff", "trimtab advisor diff | less -R"))
def diff(profile: str = DEFAULT, /, *, json: Json = False, where: AdvisorOptions = HERE) -> int:
    """Look again and show the diffs of the plan. Exits with 2 if there are any.

    `patch` takes them: what is no diff is a comment.

    Parameters
    ----------
    profile
        Which profile.
    """
    config = talk(where, lambda requests: requests.look(profile))
    status = config.status
    if status.phase in ("PrerequisiteFailed", "Failed"):
        raise TrimtabError(f"{profile} is {status.phase}, so there is no plan: {told(config)}")
    if json:
        show_json({item.name: item.diff for item in status.items})
    else:
        show_diffs(status.items)
        err.print(as_of(status), markup=False)
    return 2 if summarise(status.items).pending else 0


@app.command(
    help_epilogue=examples("trimtab advisor approve", "trimtab advisor approve --plan 0c5e37e17e99")
)
def approve(profile: str = DEFAULT, /, *, plan: str = "", where: AdvisorOptions = HERE) -> int:
    """Approve the plan that waits for review, and return; the operator carries it out.

    Parameters
    ----------
    profile
        Which profile.
    plan
        Only the plan with this id, as `trimtab advisor plan` showed it.
    """
    config = talk(where, lambda requests: requests.approve(profile, plan))
    err.print(f"plan {config.spec.approved_plan} of {profile} approved", markup=False)
    return 0


@app.command(help_epilogue=examples("trimtab advisor apply", "trimtab advisor apply --yes"))
def apply(
    profile: str = DEFAULT,
    /,
    *,
    yes: Flag = False,
    json: Json = False,
    where: AdvisorOptions = HERE,
) -> int:
    """Show the plan, ask, approve exactly that plan, and wait until it is in effect.

    What drifted is planned anew first. Exits with 2 if nobody agreed.

    Parameters
    ----------
    profile
        Which profile.
    yes
        Do not ask.
    """

    async def ask(requests: ConfigRequests) -> VirtPlatformConfig:
        config = await requests.plan(profile)
        return await requests.plan_again(profile) if config.status.phase == "Drifted" else config

    return _carry_out(where, talk(where, ask), yes, json)


@app.command(help_epilogue=examples("trimtab advisor rollback", "trimtab advisor rollback --yes"))
def rollback(
    profile: str = DEFAULT,
    /,
    *,
    yes: Flag = False,
    json: Json = False,
    where: AdvisorOptions = HERE,
) -> int:
    """Show the way back to what was before, ask, and go it.

    Without a terminal and without --yes it waits for review, like any plan; exits with 2.

    Parameters
    ----------
    profile
        Which profile.
    yes
        Do not ask.
    """
    return _carry_out(where, talk(where, lambda requests: requests.go_back(profile)), yes, json)


def _carry_out(where: AdvisorOptions, shown: VirtPlatformConfig, yes: bool, json: bool) -> int:
    """Approve what was shown, if somebody agrees, and wait for the end."""
    name, plan_id = shown.metadata.name, shown.status.plan_id
    waits = shown.status.phase == "ReviewRequired"
    if not (waits and yes and json):  # one document: the end
        code = _show(shown, json)
        if not waits or not (yes or agreed(f"Approve plan {plan_id}?")):
            return code

    async def go(requests: ConfigRequests) -> VirtPlatformConfig:
        await requests.approve(name, plan_id)
        return await requests.settled(name)

    done = talk(where, go)
    emit(done, json, show_config, as_json(done))
    return exit_code(done, pending=False)


@app.command(
    help_epilogue=examples(
        "trimtab advisor status",
        "trimtab advisor status load-aware-rebalancing --watch",
        "trimtab advisor status --json | jq '.[].phase'",
    )
)
def status(
    profile: str | None = None,
    /,
    *,
    watch: Annotated[bool, Parameter(name=("--watch", "-w"), negative=())] = False,
    json: Json = False,
    where: AdvisorOptions = HERE,
) -> int:
    """Show where all configurations stand, or one item by item. Exits like plan.

    Parameters
    ----------
    profile
        Only this one.
    watch
        Stay, and show it again whenever it changes.
    """
    if watch:
        return _watch(profile or DEFAULT, where)

    async def ask(requests: ConfigRequests) -> list[VirtPlatformConfig]:
        return [await requests.get(profile)] if profile else list(await requests.all())

    configs = talk(where, ask)
    if json:
        show_json([as_json(config) for config in configs])
    elif profile:
        show_config(configs[0])
    else:
        show_configs(configs)
    codes = {exit_code(each, summarise(each.status.items).pending) for each in configs}
    return 1 if 1 in codes else max(codes, default=0)


def _watch(profile: str, where: AdvisorOptions) -> int:
    async def follow(requests: ConfigRequests) -> int:
        async for config in requests.changes(profile):
            show_config(config)
        return 0

    return talk(where, follow)


app.command(ignore, help_epilogue=IGNORE_EXAMPLES)
app.command(accept, help_epilogue=ACCEPT_EXAMPLES)


@app.command(
    help_epilogue=examples(
        "trimtab advisor history",
        "trimtab advisor history --json",
        "trimtab advisor history 0c5e37e17e99",
    )
)
def history(profile: str = DEFAULT, /, *, json: Json = False, where: AdvisorOptions = HERE) -> None:
    """Show what happened to a configuration: plans, approvals, applies, drift.

    With the id of a plan that was started: what it changed, as `patch` takes it. The diffs of
    the newest eight plans of a configuration are kept.

    Parameters
    ----------
    profile
        Which profile, or the id of a past plan.
    """
    configs = talk(where, lambda requests: requests.all())
    config = next((each for each in configs if each.metadata.name == profile), None)
    if config is not None:
        emit(config.status.history, json, show_history)
    else:
        emit(past_plans(configs, profile), json, show_past_plans)


@app.command(
    help_epilogue=examples(
        "trimtab advisor explain",
        "trimtab advisor explain load-aware-rebalancing",
        "trimtab advisor explain Drifted",
        "trimtab advisor explain AsymmetricLow",
    )
)
def explain(topic: str = "", /) -> None:
    """Say what a profile does with which options, or what a phase or a threshold means.

    It needs no cluster.

    Parameters
    ----------
    topic
        A profile, a phase or a deviation threshold; otherwise all profiles and phases.
    """
    profiles = built_in()
    phases = {str(phase).lower(): guide for phase, guide in PHASES.items()}
    if topic in profiles:
        show_profile(profiles.get(topic), described(topic))
    elif topic.lower() in phases:
        guide = phases[topic.lower()]
        out.print(f"{guide.meaning}\nnext: {guide.next}", markup=False)
    elif topic in all_in_words():
        out.print(all_in_words()[topic], markup=False)
    elif topic:
        names = ", ".join((*profiles.names(), *PHASES, *all_in_words()))
        raise TrimtabError(
            f'"{topic}" is neither a profile nor a phase nor a threshold; there are: {names}'
        )
    else:
        for profile in profiles:
            show_profile(profile, ())
        out.print()
        show_phases()
