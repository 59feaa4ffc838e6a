"""VMs in words."""

import pytest

from trimtab.view.services.vm import memory_text


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        pytest.param("8Gi", "8Gi", id="as it was written"),
        pytest.param("8589934592", "8Gi", id="bytes of a recording"),
        pytest.param("8124387328", "7.57Gi", id="an odd number of bytes"),
        pytest.param("1073741824000", "1000Gi", id="a thousand of them"),
        pytest.param("524288000", "500Mi", id="less than a GiB"),
        pytest.param("512", "512", id="hardly anything"),
        pytest.param("", "", id="nothing known"),
    ],
)
def test_bytes_are_shown_in_a_unit_that_people_read(given: str, shown: str) -> None:
    assert memory_text(given) == shown
