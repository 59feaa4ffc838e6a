"""Swap for VMs on worker nodes: a MachineConfig in Ignition's form.

The node's own swap partition is found by its label, kubelets may let VMs use it
(LimitedSwap), and the system's services may not: swapping those would stall the node.
"""

from base64 import b64encode

from trimtab.advisor.kinds import MACHINE_CONFIGS, ROLE
from trimtab.kube.resources import Free

NAME = "90-worker-kubelet-swap"
LABEL = "CNV_SWAP"
IGNITION = "3.2.0"
SCRIPT_FILE = "/etc/find-swap-partition"
KUBELET_FILE = "/etc/openshift/kubelet.conf.d/90-swap.conf"
_MARKER = "/var/tmp/swap-is-on"

_SCRIPT = f"""\
#!/usr/bin/env bash
# Turns on the swap partition labelled {LABEL}, and leaves a note that it did.
set -euo pipefail
device=$(blkid --label {LABEL} || true)
if [ -z "$device" ]; then
  echo "no partition is labelled {LABEL}: this node runs without swap" >&2
  exit 0
fi
swapon --discard "$device"
touch {_MARKER}
"""
_KUBELET = """\
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
failSwapOn: false
memorySwap:
  swapBehavior: LimitedSwap
"""
_PROVISION = f"""\
[Unit]
Description=Turn on the node's swap partition for virtual machines
ConditionPathExists=!{_MARKER}
Before=kubelet.service

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart={SCRIPT_FILE}

[Install]
WantedBy=multi-user.target
"""
_NO_SYSTEM_SWAP = """\
[Unit]
Description=Keep the system's own services out of swap

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/usr/bin/systemctl set-property --runtime system.slice MemorySwapMax=0

[Install]
WantedBy=multi-user.target
"""


def machine_config() -> Free:
    return {
        "apiVersion": MACHINE_CONFIGS.api_version,
        "kind": MACHINE_CONFIGS.kind,
        "metadata": {"name": NAME, "labels": {ROLE: "worker"}},
        "spec": {
            "config": {
                "ignition": {"version": IGNITION},
                "storage": {
                    "files": [
                        _file(SCRIPT_FILE, 0o755, _SCRIPT),
                        _file(KUBELET_FILE, 0o644, _KUBELET),
                    ]
                },
                "systemd": {
                    "units": [
                        _unit("swap-provision.service", _PROVISION),
                        _unit("cgroup-system-slice-config.service", _NO_SYSTEM_SWAP),
                    ]
                },
            }
        },
    }


def _file(path: str, mode: int, text: str) -> Free:
    encoded = b64encode(text.encode()).decode()
    source = f"data:text/plain;charset=utf-8;base64,{encoded}"
    return {"path": path, "mode": mode, "overwrite": True, "contents": {"source": source}}


def _unit(name: str, text: str) -> Free:
    return {"name": name, "enabled": True, "contents": text}
