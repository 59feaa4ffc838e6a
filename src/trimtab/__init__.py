"""trimtab keeps a cluster of virtual machines on Kubernetes level with the fewest, safest moves.

For programs and notebooks: docs/reference/python.md. The names in `__all__` are public; every
other module is private and may move without notice.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trimtab.api import (
        Runs,
        Study,
        define_score,
        load_scenario,
        make_scenario,
        run_study,
        score_names,
        simulate,
    )
    from trimtab.errors import TrimtabError

__version__ = "0.1.0"

__all__ = [
    "Runs",
    "Study",
    "TrimtabError",
    "__version__",
    "define_score",
    "load_scenario",
    "make_scenario",
    "run_study",
    "score_names",
    "simulate",
]


def __getattr__(name: str) -> Any:
    """Load the API when it is first used: `trimtab --help` must not wait for NumPy."""
    if name not in __all__:
        raise AttributeError(f"module 'trimtab' has no attribute {name!r}")
    from trimtab import api, errors

    return getattr(errors if name == "TrimtabError" else api, name)


def __dir__() -> list[str]:
    return sorted(__all__)
