"""The real descheduler beside `trimtab.policy`: generated clusters, compared cycle by cycle.

`run.run` is the whole: it records what the real one did; `judge` judges a recording and says
which rules it touched; `wrong` holds variants of our function that must be noticed.
"""

from pathlib import Path

RECORDED = Path(__file__).parent / "cycles.xz"
"""One session of every theme: `scripts/conformance -n 120 -s 1 --record` wrote it."""
