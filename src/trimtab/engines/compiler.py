"""The two runs of go that make a program, and what their words mean.

`go list` fetches the modules and counts the packages to compile, `go build` compiles them. Each
has its own limit of silence: a download that hangs and a linker that thinks look the same.
"""

import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

from trimtab.engines import process
from trimtab.engines.events import Compiling, Downloading
from trimtab.engines.failure import BuildFailed, Phase, explain, silent
from trimtab.engines.goenv import KEPT, build_environment
from trimtab.engines.programs import Program

_DOWNLOADING = "go: downloading "
_STALE = "stale "


class Limits(Struct, frozen=True):
    """How long go may say nothing, in seconds."""

    download_s: float = 300.0
    compile_s: float = 1800.0


class Compiler(Struct, frozen=True):
    """go, set up for one program."""

    program: Program
    go: Path
    module: Path
    environment: Mapping[str, str]
    log: Path
    limits: Limits
    lock: int
    report: Callable[[Downloading | Compiling], None]

    def fetch(self) -> int:
        """Get the modules; the number of packages that go has not compiled yet."""
        stale = 0

        def hear(line: str) -> None:
            nonlocal stale
            if line.startswith(_DOWNLOADING):
                self.report(Downloading(self.program.name, line.removeprefix(_DOWNLOADING)))
            stale += line.startswith(_STALE)

        template = f"{{{{if .Stale}}}}{_STALE}{{{{.ImportPath}}}}{{{{end}}}}"
        self._run(["list", "-deps", "-f", template], "download", self.limits.download_s, hear)
        return stale

    def compile(self, binary: Path, packages: int) -> None:
        """Write the program to `binary`; `packages` is what `fetch` counted."""
        done = 0

        def hear(line: str) -> None:
            nonlocal done
            if line and " " not in line:  # with -v, every package that is being compiled
                done += 1
                self.report(Compiling(self.program.name, min(done, packages), packages))

        self.report(Compiling(self.program.name, 0, packages))
        self._run(["build", "-v", "-o", str(binary)], "compile", self.limits.compile_s, hear)

    def _flags(self) -> list[str]:
        flags = ["-trimpath", "-buildvcs=false", "-ldflags", " ".join(self.program.ldflags)]
        tags = ["-tags", ",".join(self.program.tags)] if self.program.tags else []
        return [*flags, *tags, self.program.package]

    def _run(
        self, verb: list[str], phase: Phase, silence_s: float, hear: Callable[[str], None]
    ) -> None:
        try:
            outcome = process.run(
                [str(self.go), *verb, *self._flags()],
                directory=self.module,
                environment=self.environment,
                log=self.log,
                silence_s=silence_s,
                hear=hear,
                lend=self.lock,
            )
        except process.Silence:
            raise silent(self.program.name, phase, silence_s, str(self.log)) from None
        if outcome.code:
            raise explain(self.program.name, phase, outcome.tail, str(self.log))


def go_environment(go: Path, user: Mapping[str, str], scratch: Path) -> dict[str, str]:
    """The environment to compile in, with the user's own settings asked of go."""
    try:
        answer = subprocess.run(
            [go, "env", "-json", *KEPT],
            env={**user, "GOTOOLCHAIN": "local", "GOWORK": "off"},
            cwd=scratch,
            capture_output=True,
            timeout=60,
            check=True,
        )
        settings = msgspec.json.decode(answer.stdout, type=dict[str, str])
    except (subprocess.SubprocessError, msgspec.DecodeError) as error:
        raise BuildFailed(f"{go} env failed ({error}); is this Go complete?") from error
    return build_environment(user, settings, scratch)
