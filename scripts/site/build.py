"""The documents as a site with search, opened from disk: no server, no network, no new dependency.

Markdown comes from README.md, CONTRIBUTING.md, CHANGELOG.md and docs/; Rich brings the parser.
Links between documents become links between pages, and each is checked, anchors included; links
to other files of the repository stay as they are written, and their targets must exist.
The search index is a script, because a page that was opened from disk may not fetch anything.
"""

import itertools
import json
import re
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import jinja2
from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).parent
PARTS = {"Start": ".", "Guides": "docs/guide", "Reference": "docs/reference"}


@dataclass
class Page:
    """One document: where it comes from, what it is called, what it says."""

    source: Path
    title: str
    body: str
    anchors: set[str]
    texts: list[tuple[str, str, str]]
    """(anchor, heading, text) of each section, for the search"""

    @property
    def address(self) -> str:
        """Its place in the site, relative to the top."""
        path = self.source.relative_to(ROOT).with_suffix(".html").as_posix()
        return {"README.html": "index.html"}.get(path, path.removeprefix("docs/"))


def sources() -> list[Path]:
    """Every document, in the order of the navigation."""
    top = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")]
    return [*(page for page in top if page.exists()), *sorted((ROOT / "docs").rglob("*.md"))]


def slug(text: str) -> str:
    """A heading's anchor, as forges write it."""
    return re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")


def read(source: Path) -> Page:
    """A document as HTML, its headings with anchors."""
    parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    tokens = parser.parse(source.read_text(encoding="utf-8"))
    anchors: set[str] = set()
    texts: list[tuple[str, str, str]] = [("", "", "")]
    for opening, inline in itertools.pairwise(tokens):
        if opening.type in ("fence", "code_block"):
            anchor, heading, said = texts[-1]
            texts[-1] = (anchor, heading, f"{said} {opening.content}")
        if opening.type == "heading_open":
            text = _plain(inline)
            anchor = _unique(slug(text), anchors)
            opening.attrSet("id", anchor)
            texts.append((anchor, text, ""))
        elif opening.type != "heading_close" and inline.type == "inline":
            anchor, heading, said = texts[-1]
            texts[-1] = (anchor, heading, f"{said} {_plain(inline)}")
    title = next((heading for _, heading, _ in texts if heading), source.stem)
    body = parser.renderer.render(tokens, parser.options, {})
    return Page(source, title, body, anchors, [each for each in texts if any(each)])


def _plain(token: Token) -> str:
    return "".join(child.content for child in token.children or () if child.content)


def _unique(name: str, taken: set[str]) -> str:
    found = next(
        each for each in (name, *(f"{name}-{n}" for n in range(1, 999))) if each not in taken
    )
    taken.add(found)
    return found


def relink(page: Page, pages: dict[Path, Page]) -> Iterator[str]:
    """Turn links to documents into links to pages; what is wrong with any of them."""
    problems: list[str] = []
    up = "../" * page.address.count("/")

    def turned(match: re.Match[str]) -> str:
        link = match[1]
        if re.match(r"[a-z]+:", link):
            return match[0]
        path, _, anchor = link.partition("#")
        target = (page.source.parent / path).resolve() if path else page.source
        other = pages.get(target)
        if other is None:
            if not target.exists():
                problems.append(f"{link}: there is no such file")
            return match[0]
        if anchor and anchor not in other.anchors:
            problems.append(f"{link}: there is no such heading")
        return f'href="{up}{other.address}{"#" * bool(anchor)}{anchor}"'

    page.body = re.sub(r'href="([^"]*)"', turned, page.body)
    where = page.source.relative_to(ROOT)
    return (f"{where}: {problem}" for problem in problems)


def navigation(pages: dict[Path, Page]) -> list[tuple[str, list[Page]]]:
    """The pages by part; the many pages of single scores are found from their overview."""
    parts = {**PARTS, "Decisions": "docs/decisions"}
    found = [
        (name, [page for page in pages.values() if page.source.parent == (ROOT / folder).resolve()])
        for name, folder in parts.items()
    ]
    found[0][1].extend(p for p in pages.values() if p.source.parent == ROOT / "docs")
    return [(name, [p for p in each if "has moved" not in p.title]) for name, each in found]


def build(out: Path) -> list[str]:
    """Write the site; the problems with its links."""
    pages = {source: read(source) for source in sources()}
    problems = [problem for page in pages.values() for problem in relink(page, pages)]
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, loader=jinja2.FileSystemLoader(HERE)
    )
    template = environment.get_template("page.html.j2")
    menu = navigation(pages)
    for page in pages.values():
        target = out / page.address
        target.parent.mkdir(parents=True, exist_ok=True)
        up = "../" * page.address.count("/")
        target.write_text(template.render(page=page, menu=menu, up=up), encoding="utf-8")
    index = [
        [page.address + ("#" * bool(anchor)) + anchor, page.title, heading, " ".join(text.split())]
        for page in pages.values()
        for anchor, heading, text in page.texts
    ]
    (out / "index.js").write_text(f"window.INDEX = {json.dumps(index)};\n", encoding="utf-8")
    for name in ("site.css", "search.js"):
        shutil.copy(HERE / name, out / name)
    return problems


if __name__ == "__main__":
    directory = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "site")
    wrong = build(directory)
    for line in wrong:
        print(f"docs: {line}", file=sys.stderr)
    if not wrong:
        print(f"docs: open {(directory / 'index.html').resolve().as_uri()}")
    sys.exit(1 if wrong else 0)
