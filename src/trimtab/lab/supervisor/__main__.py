"""The supervisor's program: `python -P …/lab/supervisor/__main__.py DIR`, started by `lab up`.

Run as a file, not as a module: it forks before anything of trimtab is imported, says the
child's pid and ends. So `lab up` need not wait for the child, which reads a line from its input
before it touches the lab: if `lab up` is interrupted first, the child ends.
"""

import os
import sys


def main(directory: str) -> None:
    """Detach, then supervise the lab in `directory` until it is told to stop."""
    pid = os.fork()
    if pid:
        print(pid, flush=True)
        os._exit(0)
    os.setsid()
    os.dup2(2, 1)  # the log; stdout was the starter's pipe

    from pathlib import Path

    from trimtab.lab.files.layout import LabDir
    from trimtab.lab.supervisor import supervise

    if sys.stdin.readline() == "go\n":
        supervise(LabDir(Path(directory)))


if __name__ == "__main__":
    main(sys.argv[1])
