"""kwok plays the nodes: its description, its configuration, and the stages of nodes and pods.

A node becomes Ready and renews its lease; with the label `trimtab.dev/not-ready: "true"` it is
NotReady at once, and Ready again when the label goes. A pod with a node runs; a deleted pod is
gone when its grace is over.
"""

from typing import Any

from trimtab.files.yaml import as_documents
from trimtab.lab.components.component import Component, DeleteNodeLeases, HttpGet
from trimtab.lab.components.identity import kubeconfig_file
from trimtab.lab.components.stack import Lab

CONFIG_FILE = "config/kwok.yaml"
NOT_READY_LABEL = "trimtab.dev/not-ready"
SHORTEST_LEASE_S = 40
# 4 keeps pods 5 s behind their binding at 500 nodes; 32 does not, for a little API latency
PARALLEL = 32

_READY = '.status.conditions.[] | select( .type == "Ready" ) | .status'
_LABEL = f'.metadata.labels["{NOT_READY_LABEL}"]'
_DELETED = ".metadata.deletionTimestamp"

_CONDITIONS = """\
{{ $now := Now }}
conditions:
{{ range NodeConditions }}
- type: {{ .type | Quote }}
  lastHeartbeatTime: {{ $now | Quote }}
  lastTransitionTime: {{ $now | Quote }}
  %s
{{ end }}
"""
_AS_THEY_ARE = """\
status: {{ .status | Quote }}
  reason: {{ .reason | Quote }}
  message: {{ .message | Quote }}"""
_NOT_READY = """\
{{ if eq .type "Ready" }}
  status: "False"
  reason: NotReadyByLabel
  message: the label trimtab.dev/not-ready is set
  {{ else }}
  status: {{ .status | Quote }}
  reason: {{ .reason | Quote }}
  message: {{ .message | Quote }}
  {{ end }}"""

_RUNNING = """\
{{ $now := Now }}
phase: Running
startTime: {{ $now | Quote }}
hostIP: {{ NodeIPWith .spec.nodeName | Quote }}
podIP: {{ PodIPWith .spec.nodeName ( or .spec.hostNetwork false ) ( or .metadata.uid "" ) \
( or .metadata.name "" ) ( or .metadata.namespace "" ) | Quote }}
conditions:
{{ range $type := list "Initialized" "Ready" "ContainersReady" }}
- type: {{ $type | Quote }}
  status: "True"
  lastTransitionTime: {{ $now | Quote }}
{{ end }}
containerStatuses:
{{ range .spec.containers }}
- name: {{ .name | Quote }}
  image: {{ .image | Quote }}
  ready: true
  started: true
  restartCount: 0
  state:
    running:
      startedAt: {{ $now | Quote }}
{{ end }}
{{ with .spec.initContainers }}
initContainerStatuses:
{{ range . }}
- name: {{ .name | Quote }}
  image: {{ .image | Quote }}
  ready: true
  restartCount: 0
  {{ if eq ( or .restartPolicy "" ) "Always" }}
  started: true
  state:
    running:
      startedAt: {{ $now | Quote }}
  {{ else }}
  state:
    terminated:
      exitCode: 0
      reason: Completed
      startedAt: {{ $now | Quote }}
      finishedAt: {{ $now | Quote }}
  {{ end }}
{{ end }}
{{ end }}
"""


def lease_s(nodes: int) -> int:
    """How long a node's lease lasts; kwok renews it four times as often.

    With 40 s, 2,000 idle nodes cost 60 % of a core. Nobody needs them that fresh: kwok is
    restarted at once, and NotReady comes from a label. So large labs renew 20 a second.
    """
    return max(SHORTEST_LEASE_S, nodes // 5)


def kwok(lab: Lab) -> Component:
    port = lab.port("kwok")
    return Component(
        name="kwok",
        argv=(
            lab.program("kwok"),
            f"--kubeconfig={kubeconfig_file('kwok')}",
            f"--config={CONFIG_FILE}",
            f"--server-address=127.0.0.1:{port}",
        ),
        probes=(HttpGet(f"http://127.0.0.1:{port}/healthz"),),
        needs=("kube-apiserver", "objects"),
        before=(DeleteNodeLeases(),),
    )


def kwok_config(nodes: int) -> str:
    """The configuration and all stages in one file; without the parallelism options kwok exits."""
    options = {
        "cidr": "10.0.0.0/8",
        "nodeIP": "127.0.0.1",
        "manageAllNodes": True,
        "nodeLeaseDurationSeconds": lease_s(nodes),
        "podPlayStageParallelism": PARALLEL,
        "nodePlayStageParallelism": PARALLEL,
        "nodeLeaseParallelism": PARALLEL,
        "podsOnNodeSyncParallelism": PARALLEL,
    }
    head = {
        "apiVersion": "config.kwok.x-k8s.io/v1alpha1",
        "kind": "KwokConfiguration",
        "options": options,
    }
    return as_documents(head, *stages())


def stages() -> list[dict[str, Any]]:
    """What happens to nodes and pods, and when."""
    pending = _where(".status.phase", "In", "Pending")
    alive = {"key": _DELETED, "operator": "DoesNotExist"}
    deleted = {"key": _DELETED, "operator": "Exists"}
    return [
        _stage(
            "node-ready",
            "Node",
            [_where(_READY, "NotIn", "True"), _where(_LABEL, "NotIn", "true")],
            {"statusTemplate": _CONDITIONS % _AS_THEY_ARE + "phase: Running\n"},
        ),
        _stage(
            "node-not-ready",
            "Node",
            [_where(_READY, "NotIn", "False"), _where(_LABEL, "In", "true")],
            {"statusTemplate": _CONDITIONS % _NOT_READY},
        ),
        _stage("pod-running", "Pod", [alive, pending], {"statusTemplate": _RUNNING}),
        _stage(
            "pod-gone",
            "Pod",
            [deleted],
            {"finalizers": {"empty": True}, "delete": True},
            delay={"durationFrom": {"expressionFrom": _DELETED}},
        ),
    ]


def rbac() -> list[dict[str, Any]]:
    """kwok's rights: read nodes and pods, write their status, hold leases, finish deletions."""
    rules = [
        _rule("", ["nodes"], ["get", "list", "watch"]),
        _rule("", ["pods"], ["get", "list", "watch", "patch", "delete"]),
        _rule("", ["nodes/status", "pods/status"], ["patch", "update"]),
        _rule("", ["events"], ["create", "patch", "update"]),
        _rule("coordination.k8s.io", ["leases"], ["get", "list", "watch", "create", "update"]),
    ]
    group = "rbac.authorization.k8s.io"
    name = {"name": "trimtab:kwok"}
    role = {"apiVersion": f"{group}/v1", "kind": "ClusterRole", "metadata": name, "rules": rules}
    binding = {
        "apiVersion": f"{group}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": name,
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", **name},
        "subjects": [{"apiGroup": group, "kind": "User", "name": "kwok"}],
    }
    return [role, binding]


def _stage(
    name: str,
    kind: str,
    where: list[dict[str, Any]],
    then: dict[str, Any],
    delay: dict[str, Any] | None = None,
) -> dict[str, Any]:
    spec: dict[str, Any] = {"resourceRef": {"apiGroup": "v1", "kind": kind}}
    spec["selector"] = {"matchExpressions": where}
    if delay:
        spec["delay"] = delay
    spec["next"] = then
    return {
        "apiVersion": "kwok.x-k8s.io/v1alpha1",
        "kind": "Stage",
        "metadata": {"name": name},
        "spec": spec,
    }


def _where(key: str, operator: str, value: str) -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": [value]}


def _rule(group: str, resources: list[str], verbs: list[str]) -> dict[str, Any]:
    return {"apiGroups": [group], "resources": resources, "verbs": verbs}
