"""Commands for a lab that runs: its loop changed, watched and tested."""

import asyncio
from collections.abc import Callable
from typing import Annotated

from cyclopts import Parameter

from trimtab.cli.common.numbers import Seconds
from trimtab.cli.common.output import Flag, Json
from trimtab.cli.lab.context import Name, existing
from trimtab.cli.lab.stacks.loop import warn_of
from trimtab.errors import ConfigError
from trimtab.lab.files.layout import LabDir
from trimtab.model.examples import example_or_file
from trimtab.model.scenarios.io import load_scenario
from trimtab.model.scenarios.scenario import Scenario
from trimtab.policy.file.settings import queries
from trimtab.scores import choose_score
from trimtab.stacks.loop.change import change_algorithm, change_scenario, current_scenario
from trimtab.stacks.loop.connection import open_loop
from trimtab.stacks.loop.projector.policy_file import algorithm_of
from trimtab.stacks.loop.state.links import Link
from trimtab.stacks.loop.state.round_trip import all_links
from trimtab.view.loop import show_link, show_links, watch_loop
from trimtab.view.terminal import err, progress


def algorithm(score: str | None = None, /, *, name: Name = "default") -> None:
    """Change the node score that the descheduler goes by; without one, say which it is.

    Parameters
    ----------
    score
        Name of a score; `trimtab scores list` names them.
    """
    lab = existing(name)
    if score is not None:
        choose_score(score)
        with progress(f"lab {name}") as steps:
            steps.note(f"changing the policy to {score}; the descheduler restarts")
            asyncio.run(_change_algorithm(lab, score))
    print(asyncio.run(_current_algorithm(existing(name))))
    if score is not None:
        err.print("the ConfigMap kube-descheduler/descheduler-policy holds the policy")


async def _change_algorithm(lab: LabDir, score: str) -> None:
    async with open_loop(lab) as loop:
        await change_algorithm(loop, score)


async def _current_algorithm(lab: LabDir) -> str:
    async with open_loop(lab) as loop:
        return ", ".join(algorithm_of(query) for query in queries(loop.policy())) or "none"


def scenario(file: str | None = None, /, *, again: Flag = False, name: Name = "default") -> None:
    """Say which scenario runs; with a file or --again remove its VMs and start over.

    Parameters
    ----------
    file
        A scenario file, the name of an example (`trimtab examples`), or file.json#name for one
        of several scenarios in a file.
    again
        Start over with the same scenario: its VMs are deleted and made anew.
    """
    if again and file is not None:
        raise ConfigError("--again starts over with the same scenario; leave the file out")
    lab = existing(name)
    if file is None and not again:
        print(asyncio.run(_current_scenario(lab)))
        return
    wanted = None if file is None else load_scenario(example_or_file(file, "scenarios"))
    warn_of(wanted)
    with progress(f"lab {name}") as steps:
        said = asyncio.run(_change_scenario(lab, wanted, steps.note))
    err.print(said, markup=False)


async def _current_scenario(lab: LabDir) -> str:
    async with open_loop(lab) as loop:
        script = current_scenario(loop)
    return f"{script.name}: {len(script.nodes)} nodes, {len(script.vms)} VMs"


async def _change_scenario(
    lab: LabDir, wanted: Scenario | None, note: Callable[[str], None]
) -> str:
    async with open_loop(lab) as loop:
        note("removing the VMs, making new ones")
        script = await asyncio.to_thread(change_scenario, loop, wanted)
    return f"scenario {script.name}: {len(script.vms)} VMs run"


def watch(
    *,
    name: Name = "default",
    once: Flag = False,
    every: Annotated[Seconds, Parameter(help="Seconds between two looks.")] = 1.0,
    json: Json = False,
) -> None:
    """Show nodes with bars and classes, evictions and migrations, until Ctrl-C.

    Parameters
    ----------
    once
        Show one frame and end; so also when the output is no terminal.
    """
    asyncio.run(watch_loop(existing(name), once=once or json, every_s=every, json=json))


def links(*, name: Name = "default", json: Json = False) -> int:
    """Test every link of the loop; one small VM is made, evicted, followed and removed.

    Exits with 1 if a link is broken, and says which and what to look at.
    """
    found = asyncio.run(_test(existing(name), quiet=json))
    show_links(found, json=json)
    return 0 if all(link.state in ("ok", "late") for link in found) else 1


async def _test(lab: LabDir, *, quiet: bool) -> list[Link]:
    found = []
    async with open_loop(lab) as loop:
        async for link in all_links(loop):
            found.append(link)
            if not quiet:
                show_link(link)
    return found
