"""A service of ours that a test starts, stops, pauses and kills itself, beside a lab's own."""

import os
import signal
import subprocess
import time
from pathlib import Path

from builders.labs.lab import RunningLab
from builders.labs.vm import trimtab
from trimtab.lab.components.identity import kubeconfig_file


class ServiceProcess:
    """`trimtab run SERVICE` under the account that the lab made for it."""

    def __init__(
        self, lab: RunningLab, service: str, *flags: str, kubeconfig: Path | None = None
    ) -> None:
        config = kubeconfig or lab.dir / kubeconfig_file(service)
        arguments = ("run", service, f"--kubeconfig={config}", "--port=0", *flags)
        self.log = lab.dir / "logs" / f"{service}-{time.monotonic_ns()}.log"
        with self.log.open("wb") as out:
            self.process = subprocess.Popen(
                trimtab(*arguments), cwd=lab.dir, stdout=out, stderr=out, start_new_session=True
            )

    def signal(self, number: signal.Signals) -> None:
        os.kill(self.process.pid, number)

    def end(self) -> int:
        """End it in order, so that the next may lead; its exit code."""
        self.signal(signal.SIGTERM)
        return self.process.wait(60)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def said(self, text: str) -> bool:
        return text in self.log.read_text()
