"""The `trimtab lab` command as benchmarks see it, and how they say what they measured."""

import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

from builders.labs.lab import RunningLab
from trimtab.engines import cache_dir
from trimtab.lab.files.layout import Home


class Bench:
    """The `trimtab lab` command with a state directory of its own, and its lab."""

    def __init__(self, state: Path) -> None:
        self.lab = RunningLab(Home(state / "trimtab"), "default", ())
        engines = str(cache_dir(os.environ).parent.parent)
        self._env = {
            "PATH": os.defpath,
            "HOME": str(state),
            "XDG_STATE_HOME": str(state),
            "XDG_CACHE_HOME": engines,
        }

    def up(self, *options: str) -> float:
        """Start or resume a bare control plane; the seconds it took."""
        return self("up", "--with", "none", *options)

    def __call__(self, *arguments: str) -> float:
        """Run one command; the seconds it took."""
        begin = time.monotonic()
        subprocess.run(
            [sys.executable, "-m", "trimtab.cli", "lab", *arguments],
            env=self._env,
            check=True,
            capture_output=True,
            timeout=300,
        )
        return time.monotonic() - begin


def say(what: str, seconds: list[float], goal: str) -> None:
    spread = f"{min(seconds):.2f} to {max(seconds):.2f}"
    median = statistics.median(seconds)
    load = os.getloadavg()[0]
    print(f"\n{what}: median {median:.2f} s of {len(seconds)} ({spread}), {goal}; load {load:.1f}")
