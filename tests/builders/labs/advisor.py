"""An API server with VirtPlatformConfigs and OpenShift's stand-ins, for the operator to run on.

The operator runs as its own account, so every test also proves that its rights suffice.
"""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import yaml

from builders.labs.administrator import APPLY, Administrator, path_of
from builders.labs.kubectl import attempt
from builders.waiting import LIMIT_S, wait_until
from conformance.apiserver import ApiServer, running_apiserver
from trimtab.advisor.decide.approval import REQUESTED_BY
from trimtab.advisor.kinds import ROLE
from trimtab.advisor.mocks.baseline import baseline
from trimtab.advisor.mocks.kube_descheduler import Release
from trimtab.advisor.mocks.manifests import definitions
from trimtab.install.advisor.crd import config_crd
from trimtab.install.advisor.rbac import operator_rbac, target_rbac, user_rbac

Free = dict[str, Any]
ACCOUNT = "system:serviceaccount:trimtab-system:advisor"
NAMESPACES = ("trimtab-system", "openshift-cnv", "kube-descheduler", "monitoring")
LOAD_AWARE, DENSITY, EXAMPLE = "load-aware-rebalancing", "virt-higher-density", "example-profile"
POOL = "worker"
DESCHEDULER_HOME = "openshift-kube-descheduler-operator"


def rolled(name: str, mine: list[Free]) -> Free:
    """A pool all of whose machines run the rendered config `name`."""
    configuration = {"name": name, "source": [{"name": c["metadata"]["name"]} for c in mine]}
    counts = dict.fromkeys(("machineCount", "updatedMachineCount", "readyMachineCount"), 3)
    conditions = [{"type": "Updated", "status": "True"}, {"type": "Updating", "status": "False"}]
    status = {"configuration": configuration, "conditions": conditions, **counts}
    return {"spec": {"configuration": configuration}, "status": status}


def _config_of(mine: list[Free]) -> Free:
    """Files and units of all configs together."""
    configs = [c["spec"].get("config") or {} for c in mine]
    files = [f for c in configs for f in (c.get("storage") or {}).get("files") or ()]
    units = [u for c in configs for u in (c.get("systemd") or {}).get("units") or ()]
    return {"storage": {"files": files}, "systemd": {"units": units}}


class Kubectl:
    """The administrator: with kubectl where it matters what kubectl does, otherwise directly."""

    def __init__(self, server: ApiServer) -> None:
        self.server = server
        self._api = Administrator(server)

    def close(self) -> None:
        self._api.close()

    # With kubectl

    def run(self, *arguments: str, text: str = "") -> str:
        done = self.attempt(*arguments, text=text)
        assert done.returncode == 0, f"kubectl {' '.join(arguments)}: {done.stderr}"
        return done.stdout

    def attempt(
        self, *arguments: str, text: str = "", user: Path | None = None
    ) -> subprocess.CompletedProcess[str]:
        config = user or self.server.kubeconfig
        return attempt(config, *arguments, home=self.server.directory, stdin=text)

    def apply(self, *manifests: Free, flags: tuple[str, ...] = ()) -> None:
        self.run("apply", *flags, "-f", "-", text=yaml.safe_dump_all(manifests))

    def refused(self, manifest: Free) -> str:
        """What the API server says to a manifest that it must not accept."""
        done = self.attempt("apply", "-f", "-", text=yaml.safe_dump(manifest))
        assert done.returncode != 0, f"it was accepted: {manifest}"
        return done.stderr

    # Without it

    def put(self, *manifests: Free) -> None:
        """What `kubectl apply --server-side --force-conflicts` does to objects it applied so."""
        for each in manifests:
            meta = each["metadata"]
            where = (meta["name"], meta.get("namespace", ""), each["apiVersion"])
            path = path_of(each["kind"].lower(), *where)
            options = {"fieldManager": "kubectl", "force": "true", "fieldValidation": "Strict"}
            self._api.patch(path, each, APPLY, **options)

    def get(self, kind: str, name: str, namespace: str = "") -> Free:
        return self._api.get(path_of(kind, name, namespace))

    def exists(self, kind: str, name: str, namespace: str = "") -> bool:
        return self._api.find(path_of(kind, name, namespace)) is not None

    def all(self, kind: str) -> list[Free]:
        found: list[Free] = self._api.get(path_of(kind))["items"]
        return found

    def patch(
        self,
        kind: str,
        name: str,
        patch: Free,
        namespace: str = "",
        manager: str = "kubectl-patch",
    ) -> None:
        """As `kubectl patch --type=merge`, under whose name the fields are then owned."""
        self._api.patch(path_of(kind, name, namespace), patch, fieldManager=manager)

    def delete(self, kind: str, name: str, namespace: str = "") -> None:
        """Delete it if it is there."""
        self._api.delete(path_of(kind, name, namespace))

    def clear(self, kind: str, namespace: str = "") -> None:
        """Delete all objects of a kind."""
        self._api.delete(path_of(kind, "", namespace))

    def is_policed(self, name: str) -> bool:
        """Whether our policies are in force: who asks for a config is written down.

        An API server that has just started, or just got them, refuses such requests for a moment.
        Nothing is kept of this one.
        """
        options = urlencode({"fieldManager": "kubectl", "force": "true", "dryRun": "All"})
        path = f"{path_of('virtplatformconfig', name)}?{options}"
        code, body = self._api.ask("PATCH", path, a_config(name, "Apply"), APPLY)
        assert code in (200, 201, 503), body
        notes = json.loads(body)["metadata"].get("annotations") or {}
        return REQUESTED_BY in notes

    # Machine configs

    def roll(self) -> None:
        """What the machine-config operator does: render, and all nodes run what was rendered."""
        configs = self.all("machineconfig")
        mine = [c for c in configs if (c["metadata"].get("labels") or {}).get(ROLE) == POOL]
        arguments = [a for c in mine for a in c["spec"].get("kernelArguments") or ()]
        name = f"rendered-{POOL}-{abs(hash(str(mine))):032x}"
        rendered = {
            "apiVersion": "machineconfiguration.openshift.io/v1",
            "kind": "MachineConfig",
            "metadata": {"name": name},
            "spec": {"kernelArguments": arguments, "config": _config_of(mine)},
        }
        self.put(rendered)
        self.patch("machineconfigpool", POOL, rolled(name, mine))

    # VirtPlatformConfigs

    def config(self, name: str) -> Free:
        return self.get("virtplatformconfig", name)

    def status(self, name: str) -> Free:
        status: Free = self.config(name).get("status") or {}
        return status

    def act(self, name: str, **spec: Any) -> None:
        self.patch("virtplatformconfig", name, {"spec": spec})

    def forget(self, name: str) -> None:
        self.delete("virtplatformconfig", name)

    def await_phase(self, name: str, *phases: str) -> Free:
        """The status once it is in one of the phases and answers the present spec."""
        config: Free = {}

        def there() -> bool:
            nonlocal config
            config = self.config(name)
            status = config.get("status") or {}
            answered = status.get("observedGeneration") == config["metadata"]["generation"]
            return answered and status.get("phase") in phases

        wait_until(there, lambda: f"{name} is not {phases}: {told(config)}")
        status: Free = config["status"]
        return status


def told(config: Free) -> str:
    status = config.get("status") or {}
    true = [
        f"{c['type']}({c['message']})"
        for c in status.get("conditions", ())
        if c["status"] == "True"
    ]
    items = [f"{i['name']}: {i.get('state')} {i.get('message')}" for i in status.get("items", ())]
    return f"{status.get('phase')} {true} {items}"


def condition(status: Free, name: str) -> Free:
    found: Free = next((c for c in status.get("conditions") or () if c["type"] == name), {})
    return found


def is_true(status: Free, name: str) -> bool:
    return bool(condition(status, name).get("status") == "True")


def item(status: Free, name: str) -> Free:
    found: Free = next(each for each in status["items"] if each["name"] == name)
    return found


def a_config(profile: str, action: str = "DryRun", **spec: Any) -> Free:
    return {
        "apiVersion": "advisor.kubevirt.io/v1alpha1",
        "kind": "VirtPlatformConfig",
        "metadata": {"name": profile},
        "spec": {"profile": profile, "action": action, **spec},
    }


def install(kubectl: Kubectl, release: Release | None = "5.32") -> None:
    """Our definition and rights; with a release also OpenShift's stand-ins and a baseline."""
    spaces = [namespace(name) for name in (*NAMESPACES, DESCHEDULER_HOME)]
    kubectl.put(*spaces, config_crd())
    kubectl.put(*operator_rbac(), *target_rbac(*NAMESPACES[1:]), *user_rbac())
    names = ["virtplatformconfigs.advisor.kubevirt.io"]
    if release is not None:
        names += install_release(kubectl, release)
    await_established(kubectl, names)
    if release is not None:
        apply_baseline(kubectl)


def apply_baseline(kubectl: Kubectl) -> None:
    """As somebody did who knew nothing of server-side apply: plans take fields from them."""
    kubectl.apply(*(each for each in baseline() if each["kind"] != "Namespace"))


def install_release(kubectl: Kubectl, release: Release) -> list[str]:
    found = definitions(release)
    kubectl.put(*found)
    return [each["metadata"]["name"] for each in found]


def await_established(kubectl: Kubectl, names: list[str]) -> None:
    def is_established(name: str) -> bool:
        found = kubectl.get("customresourcedefinition", name)
        return is_true(found.get("status") or {}, "Established")

    wait_until(lambda: all(map(is_established, names)), f"not all are established: {names}")


def namespace(name: str) -> Free:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


class OperatorProcess:
    """`trimtab run advisor`, as it runs in a cluster."""

    def __init__(self, server: ApiServer, *flags: str, kubeconfig: Path | None = None) -> None:
        config = kubeconfig or server.kubeconfig_for(server.url, ACCOUNT)
        self.log = server.directory / f"advisor-{time.monotonic_ns()}.log"
        command = [sys.executable, "-m", "trimtab.cli", "run", "advisor"]
        ports = () if any(flag.startswith("--port") for flag in flags) else ("--port=0",)
        with self.log.open("wb") as out:
            self.process = subprocess.Popen(
                [*command, f"--kubeconfig={config}", *ports, *flags],
                cwd=server.directory,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def said(self, text: str) -> bool:
        return text in self.log.read_text()

    def end(self) -> None:
        if self.alive:
            self.process.send_signal(signal.SIGTERM)
            try:
                assert self.process.wait(LIMIT_S) == 0, self.log.read_text()[-3000:]
            finally:
                self.kill()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


@contextmanager
def operator(server: ApiServer, *flags: str) -> Iterator[OperatorProcess]:
    process = OperatorProcess(server, *flags)
    try:
        yield process
        assert process.alive, process.log.read_text()[-3000:]
        process.end()
    finally:
        process.kill()


@contextmanager
def advisor_cluster(release: Release | None = "5.32") -> Iterator[Kubectl]:
    """A cluster with everything installed and no operator."""
    with running_apiserver() as server, closing(Kubectl(server)) as kubectl:
        install(kubectl, release)
        yield kubectl
