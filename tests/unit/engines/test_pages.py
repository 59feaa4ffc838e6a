"""Prometheus' own pages: one that says how to get them, until they are made."""

from pathlib import Path

import pytest

from trimtab.engines import locate
from trimtab.engines.pages import NAME, are_made, build_pages, pages_dir
from trimtab.errors import NotReady


def test_until_the_pages_are_made_there_is_one_that_says_how(tmp_path: Path) -> None:
    place = locate(NAME, tmp_path)
    assert place == pages_dir(tmp_path)
    text = (place / "mantine-ui" / "index.html").read_text()
    assert "trimtab engines build prometheus-ui" in text
    assert not are_made(tmp_path)
    (place / "mantine-ui" / "index.html").write_text("<!doctype html><div id=root></div>")
    assert are_made(tmp_path)
    assert locate(NAME, tmp_path) == place
    made = build_pages(cache=tmp_path, environment={}, report=print)
    assert (made.path, made.new) == (place, False)


@pytest.mark.parametrize("version", ["", "v18.2.0"])
def test_without_a_new_node_it_says_what_is_needed(tmp_path: Path, version: str) -> None:
    if version:
        for name in ("node", "npm"):
            (tmp_path / name).write_text(f"#!/bin/sh\necho {version}\n")
            (tmp_path / name).chmod(0o755)
    with pytest.raises(NotReady, match=r"needs Node\.js 20 or newer with npm on PATH"):
        build_pages(cache=tmp_path, environment={"PATH": str(tmp_path)}, report=print)
