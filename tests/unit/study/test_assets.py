"""The chart library in the package is the published one, byte for byte."""

import hashlib
import re
from importlib.resources import files


def test_the_chart_library_has_the_recorded_hash() -> None:
    assets = files("trimtab.study") / "assets"
    recorded = re.findall(
        r"^\| (\S+) \| ([0-9a-f]{64}) \|$", (assets / "README.md").read_text(), re.M
    )
    assert [name for name, _ in recorded] == ["echarts.min.js"]
    for name, digest in recorded:
        assert hashlib.sha256((assets / name).read_bytes()).hexdigest() == digest


def test_the_chart_library_cannot_end_the_script_it_is_inlined_in() -> None:
    source = (files("trimtab.study") / "assets" / "echarts.min.js").read_text()
    assert "</script" not in source.lower()
    assert "<!--" not in source


def test_the_licences_travel_with_it() -> None:
    assets = files("trimtab.study") / "assets"
    assert "Apache License" in (assets / "echarts.LICENSE").read_text()
    assert "Apache Software Foundation" in (assets / "echarts.NOTICE").read_text()
    assert "Bostock" in (assets / "echarts.LICENSE-d3").read_text()
