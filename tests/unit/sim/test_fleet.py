"""The scenario as arrays: what is computed once for VMs that are alike is right for each."""

from hypothesis import given
from hypothesis import strategies as st

from builders.worlds.sim import a_scenario, a_vm, nodes
from trimtab.model.load.curve import Constant
from trimtab.model.nodes_and_vms import RequestsModel, requested
from trimtab.sim.fleet import Fleet, kinds_of, on_eviction


@given(st.lists(st.integers(0, 9)))
def test_every_item_has_the_number_of_the_first_one_of_its_kind(items: list[int]) -> None:
    firsts, kind = kinds_of(items, lambda item: item % 4)
    assert [firsts[number] % 4 for number in kind.tolist()] == [item % 4 for item in items]
    assert firsts == [item for at, item in enumerate(items) if _is_new(items[:at], item)]


def _is_new(before: list[int], item: int) -> bool:
    return item % 4 not in {each % 4 for each in before}


@given(
    st.lists(st.tuples(st.integers(1, 3), st.integers(1, 3), st.integers(0, 2), st.booleans())),
    st.sampled_from(["consumption", "overcommit"]),
)
def test_vms_that_are_alike_have_their_own_requests_and_fates(
    sizes: list[tuple[int, int, int, bool]], model: RequestsModel
) -> None:
    curves = [Constant(0.1), Constant(0.6), Constant(0.9)]
    vms = [
        a_vm(f"v{i}", cpu=cpu, memory=memory, load=curves[load], migratable=migratable)
        for i, (cpu, memory, load, migratable) in enumerate(sizes)
    ]
    fleet = Fleet(a_scenario(nodes(2), vms, requests=model))
    asked = [requested(vm, model) for vm in vms]
    assert fleet.requested_cpu.tolist() == [cpu.milli_value() for cpu, _ in asked]
    assert fleet.requested_memory.tolist() == [memory.value() for _, memory in asked]
    assert fleet.eviction_effects == tuple(map(on_eviction, vms))
    assert fleet.on_eviction.tolist() == list(fleet.eviction_effects)
