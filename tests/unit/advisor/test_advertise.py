"""What an advertised profile looks like, and which are advertised at all."""

from typing import Any, cast

import pytest

from trimtab.advisor.api import LoadAwareOptions, Options, PlatformStatus
from trimtab.advisor.operator import Operator, encoded
from trimtab.advisor.plan.profile import advertisement
from trimtab.advisor.profiles.registry import built_in
from trimtab.advisor.settings import AdvisorSettings
from trimtab.kube.client import Client
from trimtab.kube.errors import AlreadyExists, NotFound, Status
from trimtab.kube.events import EventRecorder
from trimtab.kube.resources import Free, Key
from trimtab.kube.runtime.controller import Done


class Api:
    """An API server without VirtPlatformConfigs, or with all that are asked for."""

    def __init__(self, *, full: bool = False) -> None:
        self.created: list[str] = []
        self._full = full

    async def get(self, *_: Any) -> Free:
        raise NotFound("get", Status(404, "NotFound", "no"))

    async def create(self, _: Any, body: Free) -> Free:
        if self._full:
            raise AlreadyExists("create", Status(409, "AlreadyExists", "there"))
        self.created.append(body["metadata"]["name"])
        return body


def an_operator(api: Api, **settings: Any) -> Operator:
    return Operator(cast(Client, api), cast(EventRecorder, None), AdvisorSettings(**settings))


@pytest.mark.parametrize("profile", tuple(built_in()), ids=lambda profile: profile.name)
def test_an_advertisement_says_what_the_profile_says(profile: Any) -> None:
    body = advertisement(profile)
    assert body["spec"] == {"profile": profile.name, "action": "Ignore"}
    assert body["metadata"]["name"] == profile.name
    assert profile.description in body["metadata"]["annotations"].values()


@pytest.mark.parametrize(
    ("name", "created"),
    [
        ("load-aware-rebalancing", True),
        ("virt-higher-density", True),
        ("example-profile", False),
        ("unknown", False),
    ],
)
async def test_only_advertised_profiles_come_back(name: str, created: bool) -> None:
    api = Api()
    assert await an_operator(api).reconcile(Key("", name)) == Done()
    assert api.created == ([name] if created else [])


async def test_what_is_already_there_stays() -> None:
    api = Api(full=True)
    assert await an_operator(api).reconcile(Key("", "virt-higher-density")) == Done()
    assert api.created == []


async def test_advertising_can_be_switched_off() -> None:
    api = Api()
    await an_operator(api, advertise=False).reconcile(Key("", "virt-higher-density"))
    assert api.created == []


def test_options_that_were_left_out_stay_out_of_their_copy() -> None:
    status = PlatformStatus(applied_options=Options(load_aware=LoadAwareOptions()))
    kept = encoded(status)["appliedOptions"]["loadAware"]
    assert "evictionLimitTotal" not in kept
    assert kept["mode"] == "Automatic"
