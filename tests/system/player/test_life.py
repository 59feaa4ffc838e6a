"""KubeVirt's own control plane with played handlers: a VM's life, and its migrations."""

import pytest

from builders.labs.audit import Request, audited, unused_rights, uses
from builders.labs.kubevirt import KubevirtLab, needs_kubevirt
from builders.waiting import wait_until
from trimtab.install.rights import Role
from trimtab.kube.kubevirt import LIVE_MIGRATABLE
from trimtab.observe.record.migrations import read_migrations
from trimtab.stacks.services import virt_handler_player
from trimtab.vm.kubevirt_requests import KubevirtRequests

pytestmark = [pytest.mark.engines, needs_kubevirt]


def test_a_vm_starts_is_ready_and_leaves_nothing_behind(kubevirt: KubevirtLab) -> None:
    kubevirt.create("web")
    wait_until(lambda: kubevirt.vmi("web").condition("Ready") is not None)
    wait_until(lambda: kubevirt.vmi("web").condition("Ready").status == "True")  # type: ignore[union-attr]
    assert kubevirt.vmi("web").migratable
    kubevirt.delete_all()
    assert kubevirt.is_gone("web")


def test_the_name_of_a_vm_whose_deletion_was_awaited_is_free(kubevirt: KubevirtLab) -> None:
    kubevirt.create("web")

    async def deleted_and_created(requests: KubevirtRequests) -> None:
        await requests.delete("web")
        await requests.await_gone("web")
        await requests.create("web", {"resources": {"cpu": "1", "memory": "1Gi"}})

    kubevirt.request(deleted_and_created)
    assert kubevirt.await_running("web")


def test_an_eviction_becomes_a_live_migration(kubevirt: KubevirtLab) -> None:
    kubevirt.create("web")
    (source,) = kubevirt.running_launchers("web")
    answer = kubevirt.evict(source.metadata.name)
    assert 'Eviction triggered evacuation of VMI "default/web"' in answer
    kubevirt.await_all_over()
    vmi = kubevirt.vmi("web")
    assert vmi.status.node_name != source.spec.node_name
    wait_until(lambda: len(kubevirt.running_launchers("web")) == 1, "the source goes on")
    (target,) = kubevirt.running_launchers("web")
    assert target.spec.node_name == vmi.status.node_name
    (over,) = [pod for pod in kubevirt.launchers("web") if pod.status.phase == "Succeeded"]
    assert over.metadata.name == source.metadata.name, "the source stays, completed"
    recorded = kubevirt.ask(read_migrations)[0][-1]
    assert (recorded.vm, recorded.phase, recorded.by) == ("default/web", "Succeeded", "eviction")
    assert (recorded.source, recorded.target) == (source.spec.node_name, vmi.status.node_name)
    assert recorded.begun is not None
    assert recorded.ended is not None
    assert recorded.asked <= recorded.ended


def test_virtctl_stops_starts_and_migrates(kubevirt: KubevirtLab) -> None:
    kubevirt.create("web")
    before = kubevirt.vmi("web").status.node_name
    kubevirt.virtctl("migrate", "web")
    wait_until(lambda: kubevirt.vmi("web").status.node_name != before)
    kubevirt.await_all_over()
    kubevirt.virtctl("stop", "web")
    wait_until(lambda: kubevirt.is_gone("web"), "it does not stop")
    kubevirt.virtctl("start", "web")
    assert kubevirt.await_running("web")


def test_a_migration_goes_to_the_node_that_was_asked_for(kubevirt: KubevirtLab) -> None:
    kubevirt.create("web")
    source = kubevirt.vmi("web").status.node_name
    wanted = next(n for n in ("kwok-node-1", "kwok-node-2", "kwok-node-3") if n != source)

    async def move(requests):  # type: ignore[no-untyped-def]
        return await requests.await_migrated(await requests.migrate("web", to=wanted, force=True))

    kubevirt.request(move)
    assert kubevirt.vmi("web").status.node_name == wanted


@pytest.mark.parametrize(
    ("notes", "reason"),
    [
        pytest.param(
            {"fail_migration": "the cable was pulled"}, "the cable was pulled", id="asked"
        ),
        pytest.param({"dirty_rate": "2Gi"}, "stuck for 150 seconds", id="dirty rate"),
    ],
)
def test_a_failed_migration_leaves_the_vm_where_it_is(
    kubevirt: KubevirtLab, notes: dict[str, str], reason: str
) -> None:
    kubevirt.create("web")
    before = kubevirt.vmi("web")
    kubevirt.annotate("web", **notes)
    kubevirt.request(lambda requests: requests.migrate("web"))
    wait_until(lambda: any(each.status.phase == "Failed" for each in kubevirt.migrations()))
    after = kubevirt.vmi("web")
    assert after.status.node_name == before.status.node_name
    assert after.status.migration_state is not None
    assert reason in after.status.migration_state.failure_reason
    wait_until(lambda: len(kubevirt.running_launchers("web")) == 1, "the target pod stays")


def test_a_migration_under_way_is_aborted_by_cancel(kubevirt: KubevirtLab) -> None:
    kubevirt.create("web", resources={"cpu": "1", "memory": "64Gi"})
    node = kubevirt.vmi("web").status.node_name
    kubevirt.annotate("web", dirty_rate="900Mi")  # the copy takes most of a minute
    kubevirt.request(lambda requests: requests.migrate("web"))
    wait_until(lambda: kubevirt.vmi("web").is_migrating and _has_begun(kubevirt))
    assert kubevirt.request(lambda requests: requests.cancel("web"))
    wait_until(lambda: not kubevirt.vmi("web").is_migrating, "the copy goes on")
    vmi = kubevirt.vmi("web")
    assert vmi.status.node_name == node
    assert vmi.status.migration_state is not None
    assert vmi.status.migration_state.abort_status == "Succeeded"


def _has_begun(kubevirt: KubevirtLab) -> bool:
    state = kubevirt.vmi("web").status.migration_state
    return state is not None and state.start_timestamp is not None


def test_a_vm_that_cannot_migrate_says_why_and_stays(kubevirt: KubevirtLab) -> None:
    kubevirt.create("web", liveMigratable=False)
    condition = kubevirt.vmi("web").condition(LIVE_MIGRATABLE)
    assert condition is not None
    assert (condition.status, condition.reason) == ("False", "NotMigratable")
    (pod,) = kubevirt.running_launchers("web")
    assert "not live-migratable" in kubevirt.evict(pod.metadata.name)
    assert not kubevirt.migrations()
    assert kubevirt.vmi("web").status.phase == "Running"


def test_the_guests_have_the_series_of_kubevirt_and_of_cadvisor(kubevirt: KubevirtLab) -> None:
    import httpx2

    kubevirt.create("web")
    url = kubevirt.lab.urls["virt-handler-player"]
    node = kubevirt.vmi("web").status.node_name
    size = f'kubevirt_vmi_memory_domain_bytes{{node="{node}",namespace="default",name="web"}} '

    def page() -> str:
        return httpx2.get(f"{url}/guests/metrics", trust_env=False, timeout=60.0).text

    # the player hears of its own write like everybody else, a little later
    wait_until(lambda: f"{size}1073741824.0\n" in page(), "the guest is not on the page")
    assert 'container_pressure_cpu_waiting_seconds_total{container="compute"' in page()


def test_the_player_has_the_rights_that_it_uses_and_no_others(kubevirt: KubevirtLab) -> None:
    kubevirt.create("web")
    kubevirt.delete_all()
    service = virt_handler_player.SERVICE

    def unused() -> list[tuple[object, ...]]:
        return unused_rights(service, audited(kubevirt.lab.dir))

    wait_until(lambda: not unused(), "rights that nobody needs")
    refused = [
        each
        for each in audited(kubevirt.lab.dir)
        if each.service == service.name and not any(_covers(each, role) for role in service.roles())
    ]
    assert refused == []


def _covers(request: Request, role: Role) -> bool:
    return any(uses(request, role, right) for right in role.rights)
