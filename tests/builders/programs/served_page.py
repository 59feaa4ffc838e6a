"""`trimtab web` as users start it, on a port of its own, that can be killed and started again."""

import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Self


def a_free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


class ServedPage:
    """The page of one file; `address` holds the token."""

    def __init__(self, state: Path, *arguments: str | Path) -> None:
        self._arguments = [str(each) for each in arguments]
        self._env = {**os.environ, "XDG_STATE_HOME": str(state)}
        self._port = a_free_port()
        self._process: subprocess.Popen[str] | None = None
        self.address = ""

    @property
    def url(self) -> str:
        return self.address.partition("#")[0]

    @property
    def token(self) -> str:
        return self.address.partition("#")[2]

    def start(self) -> None:
        command = [sys.executable, "-m", "trimtab.cli", "web", "--port", str(self._port)]
        self._process = subprocess.Popen(
            [*command, *self._arguments], stdout=subprocess.PIPE, text=True, env=self._env
        )
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line.startswith("page: "), line
        self.address = line.removeprefix("page: ").strip()

    def resident_bytes(self) -> int:
        """What the server holds of the computer's memory."""
        assert self._process is not None
        pages = Path(f"/proc/{self._process.pid}/statm").read_text().split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")

    def cpu_s(self) -> float:
        """CPU time that the server has used so far, its threads included."""
        assert self._process is not None
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")

    def kill(self) -> None:
        """As a power cut would."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._process = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        if self._process is not None:
            self.kill()
