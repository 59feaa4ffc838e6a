"""The Go programs that a lab runs: compiled once on this computer, kept by hash, found by name.

Other rooms need `locate(name, cache)`; `trimtab engines` needs the modules. Nothing here knows
what a lab is.
"""

from trimtab.engines.cache import cache_dir, locate
from trimtab.engines.events import Progress
from trimtab.engines.programs import PROGRAMS, REQUIRED, Program, chosen

__all__ = [
    "PROGRAMS",
    "REQUIRED",
    "Program",
    "Progress",
    "cache_dir",
    "chosen",
    "locate",
]
