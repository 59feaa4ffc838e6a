"""The demo: all algorithms and do-nothing on three small clusters, in under a minute."""

from pathlib import Path

from trimtab.errors import ConfigError

_PACKAGE = Path(__file__).resolve().parents[1]


def demo_file() -> Path:
    """The demo's study file: the checkout's, or the copy inside the installed package."""
    for folder in (_PACKAGE.parents[1] / "examples", _PACKAGE / "_examples"):
        if (file := folder / "studies" / "demo.yaml").is_file():
            return file
    raise ConfigError(
        "the examples are not part of this installation; "
        "run the demo in a clone of the repository: make demo"
    )
