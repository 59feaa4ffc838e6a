"""What `trimtab lint` asks of the world: a file of rules, a Prometheus, a cluster."""

from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from trimtab.cli.live import Live, find_policy, lab_of, open_prometheus
from trimtab.cli.vm_context import connect
from trimtab.errors import ConfigError
from trimtab.model.snapshot import QueryResult
from trimtab.observe.look import Look, ask, look
from trimtab.observe.policy_source import Source, is_config_map, read_file
from trimtab.policy.lint import Facts, Program, lint, records_of
from trimtab.policy.lint.catalogue import POLICY_REFUSED

if TYPE_CHECKING:
    from trimtab.prom.client import Prometheus


async def gather(live: Live, rules: Path | None, program: Program) -> Facts:
    """The policy, and as much around it as the options name.

    A policy that the descheduler refuses is judged by its text alone: nothing else would run.
    """
    async with AsyncExitStack() as stack:
        client = None
        if live.kubeconfig is not None or live.lab:
            client = await stack.enter_async_context(connect(live.kubeconfig, live.lab))
        if is_config_map(live.policy):
            if client is None:
                raise ConfigError(f"{live.policy}: which cluster? give --kubeconfig or --lab")
            source = await find_policy(live.policy, client)
        else:
            source = read_file(Path(live.policy))
        facts = Facts(policy=source.text, file=source.where, program=program)
        if any(found.id == POLICY_REFUSED.id for found in lint(facts)):
            return facts
        url = live.prometheus or _lab_prometheus(live)
        prometheus = None
        if url:
            prometheus = await stack.enter_async_context(open_prometheus(live, url))
        seen = None
        if client is not None:
            seen = await look(client, source, prometheus, must_ask=False)
        return await _with_surroundings(facts, source, rules, prometheus, seen)


def _lab_prometheus(live: Live) -> str:
    lab = lab_of(live) if live.lab else None
    spec = lab.read_spec() if lab is not None else None
    return f"http://127.0.0.1:{spec.ports['prometheus']}" if spec is not None else ""


async def _with_surroundings(
    facts: Facts,
    source: Source,
    rules: Path | None,
    prometheus: "Prometheus | None",
    seen: Look | None,
) -> Facts:
    query: QueryResult | None = None
    if seen is not None:
        query = seen.snapshot.query
    elif prometheus is not None:
        query = await ask(prometheus, source)
    return Facts(
        policy=facts.policy,
        file=facts.file,
        records=await _records(rules, prometheus),
        query=query,
        cluster=seen.snapshot if seen is not None else None,
        program=_known(facts.program, seen),
    )


async def _records(rules: Path | None, prometheus: "Prometheus | None") -> dict[str, str] | None:
    """From the file if there is one, otherwise those that Prometheus has loaded."""
    if rules is not None:
        return _read_rules(rules)
    if prometheus is None:
        return None
    groups = await prometheus.rules()
    return {r.name: r.query for group in groups for r in group.rules if r.type == "recording"}


def _read_rules(file: Path) -> dict[str, str]:
    try:
        text = file.read_text()
    except OSError as error:
        raise ConfigError(f"--rules {file}: {error.strerror}") from error
    return records_of(text, str(file))


def _known(program: Program, seen: Look | None) -> Program:
    """What was given wins over what was found."""
    found = seen.descheduler if seen is not None else None
    if found is None:
        return program
    gate = found.in_background if program.in_background is None else program.in_background
    return Program(program.name or found.name, program.version or found.version, gate)
