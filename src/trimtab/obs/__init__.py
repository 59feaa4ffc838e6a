"""The logger and the metric registry, nothing else.

Pure rooms may use the logger only; services also `trimtab.obs.metrics`.
"""

from trimtab.obs.log import configure, get_logger

__all__ = ["configure", "get_logger"]
