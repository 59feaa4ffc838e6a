"""What a built program says of itself: the proof that it starts and carries its stamp."""

import re
import subprocess
from pathlib import Path

from trimtab.engines.programs import Program

_LIMIT_S = 60.0
_QUIET = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent"}  # no kubeconfig, no ~/.kwok of the user


def stated_version(binary: Path, program: Program) -> str:
    """All it prints when asked for its version; empty if it fails. OSError if it cannot start."""
    answer = subprocess.run(
        [binary, *program.ask_version],
        env=_QUIET,
        cwd="/",
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=_LIMIT_S,
        check=False,
    )
    return answer.stdout + answer.stderr if answer.returncode == 0 else ""


def version_fault(binary: Path, program: Program) -> str | None:
    """What is wrong with the stated version, or None."""
    try:
        said = stated_version(binary, program)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"does not start ({error})"
    if re.search(rf"(?<![\w.]){re.escape(program.version)}(?![\w.])", said):
        return None
    return f"does not say {program.version} but {said.strip()[:100] or 'nothing'!r}"
