"""A recording that can be shown to others: pseudonyms, and loads that are not quite the real ones.

Nodes keep their sums: what is added to one VM is taken from the others on its node, so a
simulation of the anonymous recording begins with the very same nodes.
"""

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from trimtab.kube.resources import Key
from trimtab.model.recorded.recording import ClusterRecording, Loads
from trimtab.observe.anonymise import anonymise_with


def anonymous(recording: ClusterRecording, jitter: float = 0.0, seed: int = 0) -> ClusterRecording:
    """The recording in pseudonyms, each VM's load changed by up to `jitter` (a share) of it."""
    manifest = recording.manifest
    moves = manifest.migrations
    keys = [_key(vm) for vm in (*manifest.vms, *(move.vm for move in moves))]
    nodes = (node for move in moves for node in (move.source, move.target))
    snapshot, name = anonymise_with(recording.snapshot, keys, nodes)

    def vm_name(vm: str) -> str:
        return str(Key(*map(name, _key(vm))))

    hidden = replace(
        manifest,
        nodes=tuple(map(name, manifest.nodes)),
        vms=tuple(map(vm_name, manifest.vms)),
        migrations=tuple(
            replace(m, vm=vm_name(m.vm), source=name(m.source), target=name(m.target))
            for m in moves
        ),
        anonymous=True,
        jitter=jitter,
    )
    shown = replace(recording, manifest=hidden, snapshot=snapshot)
    if not jitter:
        return shown
    factors = np.random.default_rng(seed).uniform(1 - jitter, 1 + jitter, len(manifest.vms))
    return replace(
        shown,
        vm_cpu=_jittered(recording, recording.vm_cpu, factors),
        vm_memory=_jittered(recording, recording.vm_memory, factors),
    )


def _key(vm: str) -> Key:
    namespace, _, name = vm.partition("/")
    return Key(namespace, name)


def _jittered(recording: ClusterRecording, load: Loads, factors: NDArray[np.float64]) -> Loads:
    """Each VM's load by its factor, then all VMs of a node so that their sum stays."""
    changed = np.asarray(load * factors, dtype=np.float32)
    before, after = recording.vms_on_nodes(load), recording.vms_on_nodes(changed)
    back = np.divide(before, after, out=np.ones_like(before), where=after > 0)
    back = np.hstack([back, np.ones((len(back), 1), dtype=np.float32)])  # VMs that are nowhere
    rows = np.arange(len(load))[:, None]
    return np.asarray(changed * back[rows, recording.placement], dtype=np.float32)
