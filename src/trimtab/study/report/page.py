"""A page that stands alone: style, charts, data and our scripts in one file of HTML."""

from collections.abc import Sequence
from importlib.resources import files
from typing import Any

import msgspec

from trimtab.study.extra import need


def render_page(
    template: str,
    parts: Sequence[str],
    data: Any,
    words: dict[str, Any],
    *,
    charts: bool = True,
) -> str:
    """One of our templates with what it says, the parts of its script, and what those draw.

    charts: with the library that draws them, which is a megabyte.
    """
    jinja2 = need("jinja2")
    environment = jinja2.Environment(
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        loader=jinja2.FunctionLoader(_asset),
    )
    trusted = environment.filters["safe"]  # our own files, and JSON that escapes < and >
    page: str = environment.get_template(template).render(
        **words,
        css=trusted(_asset("report.css")),
        script=trusted(_script(parts)),
        echarts=trusted(_asset("echarts.min.js") if charts else ""),
        data=trusted(as_script(data)),
    )
    return page


def as_script(data: Any) -> str:
    """JSON that is safe inside a script element, whatever the names in it are."""
    text = msgspec.json.encode(data).decode()
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _script(parts: Sequence[str]) -> str:
    """The page's own script: its parts in one function, so that they share their names."""
    texts = [_asset(f"report-{part}.js") for part in parts]
    return '(() => {\n"use strict";\n' + "\n".join(texts) + "})();"


def _asset(name: str) -> str:
    return (files("trimtab.study") / "assets" / name).read_text(encoding="utf-8")
