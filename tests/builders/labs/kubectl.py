"""kubectl as a test runs it: nothing of the person who runs the tests reaches it."""

import os
import subprocess
from pathlib import Path

from builders.waiting import LIMIT_S
from conformance.apiserver import ApiServer
from trimtab.engines import locate


def attempt(
    kubeconfig: Path, *arguments: str, home: Path, stdin: str = ""
) -> subprocess.CompletedProcess[str]:
    """What kubectl said and did; under `home` it keeps what it learnt of the server.

    KUBECONFIG would not do: it is a list with colons, and accounts have them in their names.
    """
    return subprocess.run(
        [str(locate("kubectl")), f"--kubeconfig={kubeconfig}", *arguments],
        env={"PATH": os.defpath, "HOME": str(home)},
        input=stdin,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )


def kubectl(
    server: ApiServer,
    *arguments: str,
    stdin: str = "",
    user: Path | None = None,
    may_warn: bool = True,
) -> str:
    """What it printed, as the administrator or with the kubeconfig of another `user`."""
    kubeconfig = user or server.kubeconfig
    done = attempt(kubeconfig, *arguments, home=server.directory, stdin=stdin)
    assert done.returncode == 0, f"kubectl {' '.join(arguments)}: {done.stderr.strip()}"
    assert may_warn or "Warning" not in done.stderr, done.stderr
    return done.stdout
