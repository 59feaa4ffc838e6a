"""Two kinds of VMs in one cluster: refused at the start, and when the other comes later."""

from typing import Any, cast

import pytest

from trimtab.errors import ConfigError
from trimtab.errors import Unavailable as Away
from trimtab.kube.client import Client
from trimtab.kube.errors import NotFound, Status
from trimtab.kube.worlds import World, refuse_beside, watch_for, world_of

BOTH = b'{"resources": [{"name": "pods"}, {"name": "virtualmachines"}]}'
OTHER = b'{"resources": [{"name": "kubevirts"}]}'


class ScriptedApi:
    """Answers discovery requests with what was written down, the last answer for ever."""

    server = "https://example"

    def __init__(self, *answers: bytes | Exception) -> None:
        self._answers = list(answers)
        self.asked = 0

    async def request(self, _verb: str, _path: str) -> bytes:
        self.asked += 1
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


def api(*answers: bytes | Exception) -> Any:
    return cast(Client, ScriptedApi(*answers))


ABSENT = NotFound("GET /apis", Status(code=404))


@pytest.mark.parametrize(
    ("answer", "world"),
    [
        pytest.param(BOTH, "kubevirt", id="KubeVirt's VMs are served"),
        pytest.param(OTHER, "trimtab", id="the group exists, its VMs do not yet"),
        pytest.param(ABSENT, "trimtab", id="nobody knows the group"),
    ],
)
async def test_the_world_is_what_the_cluster_serves(answer: bytes | Exception, world: str) -> None:
    assert await world_of(api(answer)) == world


@pytest.mark.parametrize("world", ["kubevirt", "trimtab"])
async def test_a_service_refuses_to_start_beside_the_other_kind(world: World) -> None:
    with pytest.raises(ConfigError, match="exists here"):
        await refuse_beside(api(BOTH), world)
    await refuse_beside(api(ABSENT), world)


async def test_the_other_kind_is_noticed_later_also_over_an_outage() -> None:
    client = api(ABSENT, Away("the API server is away"), OTHER, BOTH)
    with pytest.raises(ConfigError, match=r"virtualmachines\.kubevirt\.io exists here"):
        await watch_for(client, "kubevirt", every_s=0.0)
    assert client.asked == 4
