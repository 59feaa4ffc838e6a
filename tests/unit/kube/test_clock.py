"""The lab's clock: what its ConfigMap says, and what it must not say."""

import pytest

from trimtab.errors import ConfigError
from trimtab.kube.clock import NAME, NAMESPACE, Clock, clock_from
from trimtab.kube.resources import ConfigMap, ObjectMeta


def a_map(**data: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=NAME, namespace=NAMESPACE), data=data)


def test_without_a_config_map_time_is_the_real_one() -> None:
    clock = clock_from(None)
    assert (clock.lab_s(1234.5), clock.real_s(60.0)) == (1234.5, 60.0)


def test_a_scale_makes_the_labs_time_go_faster_from_the_epoch_on() -> None:
    clock = clock_from(a_map(epoch="1000.5", scale="10"))
    assert clock == Clock(1000.5, 10.0)
    assert (clock.lab_s(1002.5), clock.real_s(60.0)) == (20.0, 6.0)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        pytest.param({"epoch": "0"}, "must be numbers", id="no scale"),
        pytest.param({"epoch": "x", "scale": "1"}, "must be numbers", id="not a number"),
        pytest.param({"epoch": "0", "scale": "0"}, "above 0", id="time stands still"),
        pytest.param({"epoch": "0", "scale": "-1"}, "above 0", id="time goes back"),
        pytest.param({"epoch": "0", "scale": "inf"}, "both finite", id="infinitely fast"),
        pytest.param({"epoch": "nan", "scale": "1"}, "both finite", id="no epoch"),
    ],
)
def test_a_clock_that_makes_no_sense_is_refused_by_name(data: dict[str, str], why: str) -> None:
    with pytest.raises(ConfigError, match=f"trimtab-system/clock: .*{why}"):
        clock_from(a_map(**data))
