"""A large cluster with a few hot nodes, in numbers."""

from trimtab.model.load.curve import Constant
from trimtab.model.nodes_and_vms import Node, Vm
from trimtab.model.quantity import cores, gib
from trimtab.model.scenarios.scenario import Scenario

ON_HOT = 22


def crowded(nodes: int, vms: int, hot: int) -> Scenario:
    """`hot` nodes with 22 VMs, the others with the rest; each VM uses 1 of 32 cores."""
    names = [f"kwok-node-{number}" for number in range(1, nodes + 1)]
    homes = [name for name in names[:hot] for _ in range(ON_HOT)]
    homes += [names[hot + at % (nodes - hot)] for at in range(vms - len(homes))]
    return Scenario(
        name="crowded",
        nodes=tuple(Node(name) for name in names),
        vms=tuple(
            Vm(f"vm-{at}", cores(2), gib(4), cpu_load=Constant(0.5), node=home)
            for at, home in enumerate(homes)
        ),
    )
