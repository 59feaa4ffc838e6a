"""The two runs of go that make a program, and what their words mean.

`go list` fetches the modules and counts the packages to compile, `go build` compiles them. Each
has its own limit of silence: a download that hangs and a linker that thinks look the same.
"""

import re
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

from trimtab.engines import process
from trimtab.engines.events import Compiling, Downloading
from trimtab.engines.failure import BuildFailed, Phase, explain, silent
from trimtab.engines.pins import host_platform
from trimtab.engines.programs import Program

_DOWNLOADING = "go: downloading "
_STALE = "stale "


class SilenceLimits(Struct, frozen=True):
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
    limits: SilenceLimits
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


# Asked of `go env`, which also knows what was set by `go env -w`, and handed on.
KEPT = ("GOPROXY", "GOMODCACHE", "GOCACHE", "GOPATH", "GOSUMDB", "GOAUTH")

_CHANGES_THE_OUTCOME = frozenset(
    {
        *("GOFLAGS", "GOOS", "GOARCH", "GOAMD64", "GOARM64", "GOEXPERIMENT", "GOFIPS140"),
        *("GODEBUG", "GOROOT", "GOPRIVATE", "GONOSUMDB", "GOINSECURE", "GO111MODULE"),
        *("GOEXE", "GOTOOLDIR", "GO_LDFLAGS", "GO_EXTLINK_ENABLED"),
    }
)


def without_direct(proxies: str) -> str:
    """Take `direct` out of a GOPROXY: a lookup at a module's origin can hang for minutes.

    If no proxy is left, nothing is looked up (`off`): go then says so, and names the setting.
    """
    parts = re.findall(r"([,|]?)([^,|]+)", proxies)
    kept = "".join(mark + name for mark, name in parts if name.strip() not in ("", "direct"))
    kept = kept.lstrip(",|")
    return kept or "off"


def build_environment(
    user: Mapping[str, str], settings: Mapping[str, str], scratch: Path
) -> dict[str, str]:
    """`settings` are the answers of `go env` to `KEPT`; temporary files go to `scratch`."""
    system, architecture = host_platform().split("/")
    clean = {name: value for name, value in user.items() if name not in _CHANGES_THE_OUTCOME}
    return {
        **clean,
        **{name: settings[name] for name in KEPT if settings.get(name)},
        "GOPROXY": without_direct(settings.get("GOPROXY", "")),
        "GONOPROXY": "none",
        "GOENV": "off",
        "GOFLAGS": "-mod=readonly",
        "GOTOOLCHAIN": "local",
        "GOWORK": "off",
        "GOOS": system,
        "GOARCH": architecture,
        "CGO_ENABLED": "0",
        "GOTMPDIR": str(scratch),
    }
