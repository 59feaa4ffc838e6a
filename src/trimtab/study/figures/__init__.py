"""The charts of a study's report as vector figures for a paper.

Needs the extra `figures` (Matplotlib), imported only where it is used.
"""

from trimtab.study.figures.charts import draw_all
from trimtab.study.figures.files import FORMATS, save_all

__all__ = ["FORMATS", "draw_all", "save_all"]
