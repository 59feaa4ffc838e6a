"""A running lab for tests: the real programs in a state directory of its own.

    with running_lab(tmp_path_factory, nodes=3) as lab:
        lab.kubectl("get", "nodes")
        lab.kill("kube-scheduler")
        lab.await_ready()

Tests that use it are marked `engines`. Leaving the block stops the lab and makes sure that
none of its processes is left.
"""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from ssl import SSLContext
from typing import Any

import msgspec
import pytest
from msgspec import structs

from builders.labs.kubectl import attempt
from builders.labs.reads import Reader
from builders.waiting import wait_until
from trimtab.engines import locate
from trimtab.files.writing import make_private_dir, write_private
from trimtab.lab.api import tls_context
from trimtab.lab.components.component import Component, LabPlan, SupervisorTask
from trimtab.lab.components.control_plane import PORTS
from trimtab.lab.components.identity import ClientCert
from trimtab.lab.components.stack import NONE, Stack
from trimtab.lab.control import LabStatus
from trimtab.lab.files.layout import Home, LabDir
from trimtab.lab.files.pki import ensure_pki, utc_now
from trimtab.lab.inspection import look, read_run
from trimtab.lab.process import ProcessId, is_alive
from trimtab.lab.spec import LabClock, LabSpec
from trimtab.lab.starting.resolve_request import LabRequest
from trimtab.lab.starting.start import Means, up
from trimtab.lab.stop import down


class RunningLab:
    """One lab under test; it may be stopped and started again."""

    def __init__(self, home: Home, name: str, stacks: tuple[Stack, ...]) -> None:
        self.home, self.lab = home, home.lab(name)
        self.reports: list[str] = []
        self._means = Means(
            stacks={stack.name: stack for stack in (NONE, *stacks)},
            locate=locate,
            report=self.reports.append,
            port_shift=10_000 + os.getpid() % 100 * 100,
        )
        self._seen: set[ProcessId] = set()
        self._reader = Reader(partial(_administrator, self.lab))

    @property
    def dir(self) -> Path:
        return self.lab.path

    @property
    def kubeconfig(self) -> Path:
        return self.lab.kubeconfig

    def up(self, own_scheduler_config: str | None = None, **options: Any) -> str:
        """What `trimtab lab up` does; options are the fields of `LabRequest`."""
        if own_scheduler_config is not None:
            options["own_scheduler_config"] = True
        request = LabRequest(name=self.lab.name, **options)
        outcome, _ = up(self.home, request, self._means, own_scheduler_config)
        self.processes()
        return outcome

    def down(self) -> bool:
        self.processes()
        self._reader.close()
        return down(self.lab)

    def status(self) -> LabStatus:
        return look(self.lab)

    @property
    def urls(self) -> dict[str, str]:
        """Addresses by component, of those that have one."""
        return {unit.name: unit.url for unit in self.status().units if unit.url}

    def kubectl(self, *arguments: str, stdin: str = "") -> str:
        """Run kubectl as the lab's administrator; its output, or an error with what it said."""
        done = attempt(self.kubeconfig, *arguments, home=self.home.path, stdin=stdin)
        if done.returncode:
            raise AssertionError(f"kubectl {' '.join(arguments)}: {done.stderr.strip()}")
        return done.stdout

    def get(self, *arguments: str) -> Any:
        """What `kubectl get … -o json` prints, decoded, but read without a start of kubectl."""
        return self._reader.get(*arguments)

    def processes(self) -> dict[str, ProcessId]:
        """The supervisor and its children as they run now, by name."""
        run = read_run(self.lab)
        if run is None:
            return {}
        everybody = {"supervisor": run.supervisor, **run.children}
        alive = {name: process for name, process in everybody.items() if is_alive(process)}
        self._seen.update(alive.values())
        return alive

    def kill(self, component: str) -> ProcessId:
        """kill -9 of a component, or of "supervisor"; returns when that is known."""
        process = self.processes()[component]
        os.kill(process.pid, signal.SIGKILL)
        wait_until(lambda: not is_alive(process), f"{component} survived SIGKILL")
        wait_until(lambda: self.pid(component) != process.pid, f"nobody missed {component}")
        return process

    def pid(self, component: str) -> int | None:
        """A component's process, as the supervisor sees it."""
        return next((u.pid for u in self.status().units if u.name == component), None)

    def await_ready(self) -> LabStatus:
        """Wait until everything is ready (again)."""
        wait_until(lambda: self.status().phase == "ready", "the lab is not ready")
        self.processes()
        return self.status()

    def left_over(self) -> list[ProcessId]:
        """Processes of this lab that still run, of all that a look at it has ever shown."""
        self.processes()
        return [process for process in self._seen if is_alive(process)]


def _administrator(lab: LabDir) -> tuple[str, SSLContext]:
    return lab.read_plan().server, tls_context(lab.pki, "admin")


@contextmanager
def running_lab(
    tmp_path_factory: pytest.TempPathFactory,
    *,
    name: str = "test",
    home: Home | None = None,
    stacks: tuple[Stack, ...] = (),
    own_scheduler_config: str | None = None,
    **options: Any,
) -> Iterator[RunningLab]:
    """A lab that is ready; `options` are those of `trimtab lab up` (the fields of `LabRequest`).

    `stacks` are made known and started, unless the option `stacks` names others.
    """
    home = home or Home(tmp_path_factory.mktemp("state"))
    if stacks:
        options.setdefault("stacks", tuple(stack.name for stack in stacks))
    lab = RunningLab(home, name, stacks)
    try:
        lab.up(own_scheduler_config, **options)
        yield lab
    finally:
        lab.down()
    assert lab.left_over() == []


def a_spec(**changes: Any) -> LabSpec:
    """A lab called "test" with the usual ports, made at a fixed moment."""
    spec = LabSpec(
        name="test",
        created="2026-01-01T00:00:00+00:00",
        clock=LabClock(1_767_225_600.0),
        ports=dict(PORTS),
    )
    return structs.replace(spec, **changes)


def a_lab_on_disk(path: Path, *units: Component | SupervisorTask, **changes: Any) -> LabDir:
    """A lab whose plan holds just these units; no program of Kubernetes is needed to run it."""
    lab = LabDir(path)
    for directory in (lab.path, lab.pki, lab.logs):
        make_private_dir(directory)
    ensure_pki(lab.pki, (ClientCert("supervisor", "supervisor"),), (), utc_now())
    write_private(lab.spec_file, msgspec.json.encode(a_spec(name=path.name, **changes)))
    write_plan(lab, *units)
    return lab


def write_plan(lab: LabDir, *units: Component | SupervisorTask) -> None:
    plan = LabPlan(
        server="https://127.0.0.1:1",  # nobody listens there
        components=tuple(unit for unit in units if isinstance(unit, Component)),
        tasks=tuple(unit for unit in units if isinstance(unit, SupervisorTask)),
    )
    write_private(lab.plan_file, msgspec.json.encode(plan))


def a_script(name: str, script: str, **changes: Any) -> Component:
    """A component that runs a piece of shell."""
    return Component(name=name, argv=("/bin/sh", "-c", script), **changes)
