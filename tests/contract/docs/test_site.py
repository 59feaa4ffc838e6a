"""The site: every page, every link and anchor, a search index; the map names every room."""

import importlib.util
import json
import re
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def builder() -> ModuleType:
    spec = importlib.util.spec_from_file_location("site_build", ROOT / "scripts/site/build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def site(builder: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out: Path = tmp_path_factory.mktemp("site")
    assert builder.build(out) == []
    return out


def test_every_document_is_a_page_that_links_to_pages_only(site: Path) -> None:
    documents = [*(ROOT / "docs").rglob("*.md")]
    assert len([*site.rglob("*.html")]) >= len(documents)
    for page in site.rglob("*.html"):
        for link in re.findall(r'href="([^"#]+)', page.read_text()):
            if not re.match(r"[a-z]+:", link) and link.endswith((".html", ".css")):
                assert (page.parent / link).exists(), f"{page}: {link}"


def test_the_search_finds_a_word_of_a_page(site: Path) -> None:
    text = (site / "index.js").read_text().removeprefix("window.INDEX = ").rstrip(";\n")
    index = json.loads(text)
    found = [address for address, *words in index if "psi=1" in " ".join(words)]
    assert found
    assert all((site / address.split("#")[0]).exists() for address, *_ in index)


def test_nothing_is_fetched_from_elsewhere(site: Path) -> None:
    for name in ("index.html", "search.js", "site.css"):
        assert not re.search(
            r'(src=|@import|url\(|fetch\()["\']?(https?:|//)', (site / name).read_text()
        )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("[a](nowhere.md)", "there is no such file", id="a missing file"),
        pytest.param("[a](#nowhere)", "there is no such heading", id="a missing heading"),
    ],
)
def test_a_link_that_leads_nowhere_is_told(
    text: str, problem: str, builder: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(builder, "ROOT", tmp_path)
    (tmp_path / "README.md").write_text(f"# Top\n\n{text}\n")
    (said,) = builder.build(tmp_path / "out")
    assert said.startswith("README.md: ")
    assert problem in said


def test_the_map_names_every_room() -> None:
    page = (ROOT / "docs/architecture.md").read_text()
    rooms = [
        path.stem
        for path in (ROOT / "src/trimtab").iterdir()
        if (path.is_dir() and (path / "__init__.py").exists()) or path.name == "api.py"
    ]
    assert [room for room in rooms if f"`{room}`" not in page] == []


def test_the_index_names_every_decision() -> None:
    index = (ROOT / "docs/decisions/README.md").read_text()
    decisions = [path.name for path in (ROOT / "docs/decisions").glob("0*.md")]
    assert [name for name in decisions if f"({name})" not in index] == []
