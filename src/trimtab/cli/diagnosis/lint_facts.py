"""What `trimtab lint` asks of the world: a file of rules, a Prometheus, a cluster."""

from contextlib import AsyncExitStack
from pathlib import Path

from msgspec.structs import replace

from trimtab.balancer.requests import acting_balancer
from trimtab.cli.cluster.live import find_policy, lab_prometheus
from trimtab.cli.cluster.options import MonitoringOptions
from trimtab.cli.cluster.prometheus import open_prometheus
from trimtab.cli.cluster.which import Cluster
from trimtab.cli.common.option_files import read_option_file
from trimtab.cli.lab.context import kept_settings
from trimtab.errors import ConfigError
from trimtab.files.yaml import read_documents
from trimtab.model.examples import example_path
from trimtab.model.snapshot import QueryResult
from trimtab.observe.descheduler import deschedulers_in
from trimtab.observe.look import Look, ask, look
from trimtab.observe.policy_source import Source, is_config_map, read_file
from trimtab.prom.client import Prometheus
from trimtab.stacks.loop.settings import STACK as LOOP
from trimtab.stacks.loop.settings import from_lab
from trimtab.truth.lint import DeschedulerProgram, Facts, lint, records_of
from trimtab.truth.lint.catalogue import POLICY_REFUSED


async def gather(
    policy: str, where: MonitoringOptions, rules: Path | None, program: DeschedulerProgram
) -> Facts:
    """The policy, and as much around it as the options name.

    A policy that the descheduler refuses is judged by its text alone: nothing else would run.
    """
    cluster = _cluster(policy, where)
    async with AsyncExitStack() as stack:
        client = None
        if cluster is not None:
            client = await stack.enter_async_context(cluster.connect())
        if client is not None and is_config_map(policy):
            source = await find_policy(policy, client)
        else:
            source = read_file(example_path(Path(policy), "policies"))
        facts = Facts(policy=source.text, file=source.where, program=program)
        if any(found.id == POLICY_REFUSED.id for found in lint(facts)):
            return facts
        url = where.prometheus or (lab_prometheus(cluster) if cluster is not None else "")
        prometheus = await stack.enter_async_context(open_prometheus(url, where.access, client))
        seen = None
        if client is not None:
            seen = await look(client, source, prometheus, must_ask=False)
            if not evicts_nothing(cluster):
                facts = replace(facts, acting_balancer=await acting_balancer(client))
        return await _with_surroundings(facts, source, rules, prometheus, seen)


def _cluster(policy: str, where: MonitoringOptions) -> Cluster | None:
    """A ConfigMap is in some cluster; a file is judged alone unless a cluster is named."""
    return where.cluster() if is_config_map(policy) or where.names_a_cluster else None


def evicts_nothing(cluster: Cluster | None) -> bool:
    """Whether this is a lab whose descheduler runs dry, as beside a balancer that acts."""
    lab = cluster.lab if cluster is not None else None
    kept = kept_settings(lab, LOOP) if lab is not None else None
    return kept is not None and from_lab(kept).dry_run


async def _with_surroundings(
    facts: Facts,
    source: Source,
    rules: Path | None,
    prometheus: Prometheus | None,
    seen: Look | None,
) -> Facts:
    query: QueryResult | None = None
    if seen is not None:
        query = seen.snapshot.query
    elif prometheus is not None:
        query = await ask(prometheus, source)
    return replace(
        facts,
        records=await _records(rules, prometheus),
        query=query,
        cluster=seen.snapshot if seen is not None else None,
        program=_known(facts.program, seen),
    )


async def _records(rules: Path | None, prometheus: Prometheus | None) -> dict[str, str] | None:
    """From the file if there is one, otherwise those that Prometheus has loaded."""
    if rules is not None:
        return _read_rules(rules)
    if prometheus is None:
        return None
    groups = await prometheus.rules()
    return {r.name: r.query for group in groups for r in group.rules if r.type == "recording"}


def _read_rules(file: Path) -> dict[str, str]:
    return records_of(read_option_file("--rules", file), str(file))


def _known(program: DeschedulerProgram, seen: Look | None) -> DeschedulerProgram:
    """What was given wins over what was found."""
    found = seen.descheduler if seen is not None else None
    if found is None:
        return program
    gate = found.in_background if program.in_background is None else program.in_background
    openshift = found.openshift if program.openshift is None else program.openshift
    return DeschedulerProgram(
        program.name or found.name, program.version or found.version, gate, openshift
    )


def program(deployment: Path | None, version: str) -> DeschedulerProgram:
    """What a manifest or the user says of the descheduler."""
    if deployment is None:
        return DeschedulerProgram(version=version)
    text = read_option_file("--deployment", deployment)
    documents = read_documents(text, f"--deployment {deployment}")
    found = deschedulers_in(d for d in documents if isinstance(d, dict))
    if not found:
        raise ConfigError(f"--deployment {deployment}: no container in it runs a descheduler")
    first = found[0]
    return DeschedulerProgram(
        first.name, version or first.version, first.in_background, first.openshift
    )
