"""The extra `study`: what to say when a library of it is missing."""

import importlib
from types import ModuleType

from trimtab.errors import TrimtabError

_EXTRA_OF = {"dask": "dask", "distributed": "dask", "matplotlib": "figures"}


class MissingExtra(TrimtabError):
    """A library is not installed: install the extra and try again."""


def need(library: str) -> ModuleType:
    """The library, imported; an error that names the extra if it is not there."""
    try:
        return importlib.import_module(library)
    except ImportError as error:
        extra = _EXTRA_OF.get(library, "study")
        raise MissingExtra(
            f"{library} is not installed; install it with: pip install 'trimtab[{extra}]'"
        ) from error
