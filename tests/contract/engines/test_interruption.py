"""`trimtab engines build` as a process: interrupted, killed, and twice at once."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from builders.ctrl_c import heed_ctrl_c
from builders.proxies.scripted_go import WRITES_A_PROGRAM, a_go, everything_in, is_gone, with_go_in
from builders.waiting import wait_until
from trimtab.engines import locate

# Speaks until it is let go on: as the real go, it dies of a closed pipe when nobody listens.
WAITS = """echo $$ > {here}/go.pid; echo x >> {here}/runs
    while [ ! -e {here}/go-on ]; do echo example.org/package; sleep 0.02; done
    {then}"""


class Site:
    """A directory with a go that waits, and the processes that build there."""

    def __init__(self, here: Path) -> None:
        self.here = here
        self.cache = here / "cache" / "trimtab" / "engines"
        self.running: list[subprocess.Popen[str]] = []
        a_go(here / "bin", on_build=WAITS.format(here=here, then=WRITES_A_PROGRAM))

    def build(self) -> subprocess.Popen[str]:
        code = "from trimtab.cli.main import run; run()"
        process = subprocess.Popen(
            [sys.executable, "-c", code, "engines", "build", "etcd"],
            env=with_go_in(self.here / "bin", self.here),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=heed_ctrl_c,
        )
        self.running.append(process)
        return process

    def go_is_compiling(self) -> bool:
        return (self.here / "go.pid").exists() and bool((self.here / "go.pid").read_text())

    def go_is_gone(self) -> bool:
        return is_gone((self.here / "go.pid").read_text().strip())


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    site = Site(tmp_path)
    yield site
    (tmp_path / "go-on").touch()
    for process in site.running:
        process.kill()
        process.communicate()


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        pytest.param(signal.SIGINT, 130, id="Ctrl-C"),
        pytest.param(signal.SIGTERM, 143, id="kill"),
        pytest.param(signal.SIGHUP, 129, id="the terminal was closed"),
    ],
)
def test_an_interrupted_build_leaves_nothing_behind(
    site: Site, sent: signal.Signals, code: int
) -> None:
    process = site.build()
    wait_until(site.go_is_compiling)
    process.send_signal(sent)
    process.communicate()
    assert process.returncode == code
    assert site.go_is_gone()
    assert everything_in(site.cache) == set()


def test_a_killed_build_leaves_only_what_the_next_one_removes(site: Site) -> None:
    process = site.build()
    wait_until(site.go_is_compiling)
    process.kill()
    process.communicate()
    (left,) = everything_in(site.cache)
    assert left.startswith(".tmp-etcd-")
    (site.here / "go-on").touch()
    after = site.build()
    assert after.communicate()[1].count("done in") == 1
    assert after.returncode == 0
    assert everything_in(site.cache) == {locate("etcd", site.cache).parent.name}


def test_a_second_build_waits_for_the_first_and_finds_its_work_done(site: Site) -> None:
    first = site.build()
    wait_until(site.go_is_compiling)
    second = site.build()
    assert second.stderr is not None
    said = second.stderr.readline()
    assert said.startswith(f"engines: waiting for process {first.pid} (")
    (site.here / "go-on").touch()
    assert "compiled now: 1" in first.communicate()[0]
    assert "compiled now: 0" in second.communicate()[0]
    assert (first.returncode, second.returncode) == (0, 0)
    assert (site.here / "runs").read_text() == "x\n"


def test_the_compilers_of_a_killed_build_are_waited_for(site: Site) -> None:
    """They still write into its temporary directory: only the lock keeps that from removal."""
    a_go(
        site.here / "bin",
        on_build=f"""echo $$ > {site.here}/go.pid; exec 1>/dev/null 2>&1
    while [ ! -e {site.here}/go-on ]; do sleep 0.02; done
    {WRITES_A_PROGRAM}""",
    )
    first = site.build()
    wait_until(site.go_is_compiling)
    first.kill()
    first.communicate()
    second = site.build()
    assert second.stderr is not None
    said = second.stderr.readline()
    assert said == f"engines: waiting for the compilers of process {first.pid}, which is gone\n"
    os.kill(int((site.here / "go.pid").read_text()), signal.SIGKILL)
    (site.here / "go-on").touch()
    second.communicate()
    assert second.returncode == 0
    assert locate("etcd", site.cache).exists()
