"""Figures as files: text stays text, fonts are embedded, the same study gives the same bytes."""

import io
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trimtab.errors import ConfigError
from trimtab.files.writing import write_whole
from trimtab.study.extra import need

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = ("svg", "pdf")

# DejaVu Sans comes with Matplotlib. Type 42 is a whole TrueType font in the PDF, as publishers
# ask for; text in an SVG stays text that can be searched and edited.
STYLE: dict[str, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "legend.frameon": False,
    "pdf.fonttype": 42,
    "svg.fonttype": "none",
    "svg.hashsalt": "trimtab",
}
# No date and no version of a library in the files.
_METADATA: dict[str, dict[str, Any]] = {
    "svg": {"Date": None, "Creator": "trimtab"},
    "pdf": {"CreationDate": None, "Creator": "trimtab", "Producer": "trimtab"},
}


def chosen_formats(text: str) -> tuple[str, ...]:
    """`svg,pdf` as a tuple; an error that names what there is."""
    names = tuple(dict.fromkeys(part.strip().lower() for part in text.split(",") if part.strip()))
    unknown = [name for name in names if name not in FORMATS]
    if unknown or not names:
        raise ConfigError(f"--format: {text!r} is not understood; choose from {', '.join(FORMATS)}")
    return names


def save_all(
    figures: Mapping[str, "Figure"], directory: Path, formats: Sequence[str] = FORMATS
) -> list[Path]:
    """Write each figure in each format; the paths."""
    directory.mkdir(parents=True, exist_ok=True)
    written = []
    with need("matplotlib").rc_context(STYLE):
        for name, figure in figures.items():
            for kind in formats:
                data = io.BytesIO()
                figure.savefig(data, format=kind, metadata=_METADATA[kind])
                path = directory / f"{name}.{kind}"
                write_whole(path, data.getvalue())
                written.append(path)
    return written


def file_name(text: str) -> str:
    """A scenario's name as part of a file's name, safe whatever is in it."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-.") or "scenario"
