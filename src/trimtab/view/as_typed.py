"""Commands in a text as they can be typed here: `trimtab`, or `.venv/bin/trimtab` in a clone."""

import os
import re
import shutil
import sys
from functools import cache
from pathlib import Path

_COMMAND = re.compile(r"(?<![\w/.\-])trimtab(?= [a-z])")


@cache
def program() -> str:
    """How this program is called from here; plain `trimtab` where that would be found."""
    called = Path(sys.argv[0] if sys.argv else "")
    if shutil.which("trimtab") or called.name != "trimtab" or not called.is_file():
        return "trimtab"
    called = called.absolute()
    shown = os.path.relpath(called)
    return str(called) if shown.startswith("..") else shown


def as_typed(text: str) -> str:
    """The same text; commands in it begin as they must here."""
    name = program()
    return text if name == "trimtab" else _COMMAND.sub(name, text)
