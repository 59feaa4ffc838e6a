"""The Go tests of our scheduler plugin, and a few seconds of fuzzing, as part of ours.

They run with the Go that compiles the engines and with the flags of that build, so that
nothing is compiled twice; whoever has the programs without a Go has nothing to run them with.
`make check` vets the same code with more analysers; vetting here would read all of Kubernetes
once more.
"""

import os
import subprocess
from pathlib import Path

import pytest

from trimtab.engines.cache import cache_dir
from trimtab.engines.toolchain.golang import find_go

MODULE = Path(__file__).parents[3] / "engines" / "kubernetes"
LIMIT_S = 600


def go(*arguments: str) -> str:
    found = find_go(os.environ, cache_dir(os.environ)).go
    if found is None:
        pytest.skip("no Go on this computer; the engines were imported")
    done = subprocess.run(
        [str(found.path), *arguments],
        cwd=MODULE,
        env={**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "-mod=readonly", "GOTOOLCHAIN": "local"},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    return done.stdout


@pytest.mark.engines
def test_the_plugins_own_tests_pass() -> None:
    said = go("test", "-trimpath", "-vet=off", "./qosaware/...")
    assert said.count("ok  ") == 2, said


@pytest.mark.engines
@pytest.mark.full  # half a minute of compiling for it; its corpus is part of the test above
def test_two_seconds_of_fuzzing_find_no_second_spelling_of_a_stamp() -> None:
    options = ("-run=^$", "-fuzz=FuzzOneSpelling", "-fuzztime=2s", "-parallel=2")
    assert "PASS" in go("test", "-trimpath", "-vet=off", *options, "./qosaware/stamp")
