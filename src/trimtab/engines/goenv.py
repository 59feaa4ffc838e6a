"""The environment go builds in: the user's, minus everything that would change the outcome.

Where the user keeps caches and which proxy they use is theirs to say (in the environment or by
`go env -w`). What is compiled is ours: their flags, target, experiments and workspace stay out.
"""

import re
from collections.abc import Mapping
from pathlib import Path

from trimtab.engines.pins import host_platform

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
