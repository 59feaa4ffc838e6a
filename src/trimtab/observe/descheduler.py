"""The descheduler's own workload: which version runs, with which flags.

It may be a Deployment, a CronJob or a Job. Only the image's tag and the arguments are read.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import Struct

from trimtab.kube.resources import Free, free_kind

DEPLOYMENTS = free_kind("apps", "v1", "deployments", "Deployment")
CRON_JOBS = free_kind("batch", "v1", "cronjobs", "CronJob")
GATE = "EvictionsInBackground"


class InstalledDescheduler(Struct, frozen=True):
    """One descheduler that is meant to run."""

    name: str
    """Kind, namespace and name."""
    version: str = ""
    """The image's tag; empty for a digest."""
    arguments: tuple[str, ...] = ()
    openshift: bool = False
    """OpenShift's own build, which has plugins that upstream's has not."""

    @property
    def in_background(self) -> bool:
        """Whether the feature gate is on; the last flag that names it counts."""
        on = False
        for gate, value in self._gates():
            if gate == GATE:
                on = value.lower() in ("true", "t", "1")
        return on

    def _gates(self) -> Iterator[tuple[str, str]]:
        flags = [a.partition("=")[2] for a in self.arguments if a.startswith("--feature-gates=")]
        after = zip(self.arguments, self.arguments[1:], strict=False)
        flags += [value for flag, value in after if flag == "--feature-gates"]
        for flag in flags:
            for pair in flag.split(","):
                gate, _, value = pair.strip().partition("=")
                yield gate, value


def deschedulers_in(objects: Iterable[Free]) -> list[InstalledDescheduler]:
    """Those among Deployments, CronJobs, Jobs and Pods that run a descheduler."""
    return [found for obj in objects for found in _found(obj)]


def _found(obj: Free) -> Iterator[InstalledDescheduler]:
    meta = obj.get("metadata") or {}
    place = "/".join(filter(None, (meta.get("namespace"), meta.get("name"))))
    for container in _containers(obj.get("spec") or {}):
        image = str(container.get("image", ""))
        repository, tag = _split(image)
        if "descheduler" in repository.rpartition("/")[2] and "operator" not in repository:
            arguments = [*(container.get("command") or ()), *(container.get("args") or ())]
            yield InstalledDescheduler(
                f"{obj.get('kind') or 'workload'} {place}",
                tag,
                tuple(map(str, arguments)),
                _is_openshift(repository, str(meta.get("namespace", ""))),
            )


def _is_openshift(repository: str, namespace: str) -> bool:
    """Its images are called ose-descheduler or come from an openshift repository."""
    return "openshift" in repository or "/ose-" in repository or namespace.startswith("openshift-")


def _containers(spec: Free) -> list[Any]:
    """Of a pod, of a template, or of a CronJob's template of a template."""
    job = (spec.get("jobTemplate") or {}).get("spec")
    if job:
        return _containers(job)
    template = (spec.get("template") or {}).get("spec")
    return _containers(template) if template else list(spec.get("containers") or ())


def _split(image: str) -> tuple[str, str]:
    """Repository and tag; a port before the path is no tag."""
    name = image.partition("@")[0]
    head, colon, tag = name.rpartition(":")
    return (head, tag) if colon and "/" not in tag else (name, "")
