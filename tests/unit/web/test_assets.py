"""What the page loads: small, ours or as published, and nothing inline."""

import hashlib
import re
from gzip import compress
from importlib.resources import files

ASSETS = files("trimtab.web") / "assets"
SCRIPTS = [each for each in ASSETS.iterdir() if each.name.endswith(".js")]


def test_all_scripts_stay_within_their_budget() -> None:
    sources = [script.read_bytes() for script in SCRIPTS]
    assert sum(map(len, sources)) < 150_000
    assert sum(len(compress(source, 9)) for source in sources) < 60_000


def test_the_chart_library_is_the_published_one() -> None:
    text = (ASSETS / "README.md").read_text()
    recorded = re.findall(r"^\| (\S+) \| \S+ \| ([0-9a-f]{64}) \|$", text, re.M)
    assert [name for name, _ in recorded] == ["uplot.min.js", "uplot.min.css"]
    for name, digest in recorded:
        assert hashlib.sha256((ASSETS / name).read_bytes()).hexdigest() == digest
    assert "MIT License" in (ASSETS / "uplot.LICENSE").read_text()


def test_the_document_has_no_inline_script_and_loads_nothing_from_elsewhere() -> None:
    document = (ASSETS / "index.html").read_text()
    assert not re.search(r"<script(?![^>]*\bsrc=)|\son\w+=|\sstyle=|javascript:", document)
    assert not re.search(r"(?:src|href)=\"(?:https?:)?//", document)


def test_our_scripts_never_make_markup_of_text() -> None:
    for script in SCRIPTS:
        if ".min." not in script.name:
            source = script.read_text()
            assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write", source)
            assert not re.search(r"\beval\(|new Function|import\(", source)
