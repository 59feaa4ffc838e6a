"""A user's own score: a Python file that leaves one `Score` behind, made with `define`.

It runs with this process's rights, like any script: load only files you would run.
"""

import runpy
from pathlib import Path

from trimtab.errors import ConfigError, TrimtabError
from trimtab.scores.catalog import CATALOG, find_score
from trimtab.scores.expr import COLUMNS, Record, walk
from trimtab.scores.score import Score


def load_score_file(path: Path) -> Score:
    """The score that the file defines."""
    if not path.is_file():
        raise ConfigError(f"{path}: there is no such file; give a Python file that defines a score")
    try:
        names = runpy.run_path(str(path))
    except TrimtabError as error:
        raise ConfigError(f"{path}: {error}") from error
    except Exception as error:  # anything can go wrong in someone's script: say where, then stop
        raise ConfigError(f"{path}: {type(error).__name__}: {error}; run it with Python") from error
    own = {id(s): s for s in names.values() if isinstance(s, Score) and s not in _KNOWN}
    if len(own) != 1:
        raise ConfigError(
            f"{path}: it defines {len(own)} scores; leave exactly one, as in SCORE = define(...)"
        )
    score = next(iter(own.values()))
    _check_names(path, score)
    return score


def choose_score(name: str) -> Score:
    """A score of the catalogue by name, or the one in a file if `name` ends in .py."""
    return load_score_file(Path(name)) if name.endswith(".py") else find_score(name)


_KNOWN = frozenset(CATALOG.values())
_TAKEN = frozenset(COLUMNS).union(
    *({part.name for part in walk(s.value) if isinstance(part, Record)} for s in _KNOWN)
)
_SHARED = frozenset(part for s in _KNOWN for part in walk(s.value))


def _check_names(path: Path, score: Score) -> None:
    """Two records of one name would be one series with the values of both."""
    for part in walk(score.value):
        if isinstance(part, Record) and part not in _SHARED and part.name in _TAKEN:
            raise ConfigError(f'{path}: the name "{part.name}" is taken; choose another')
