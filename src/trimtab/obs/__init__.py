"""The logger and the metric registry, nothing else.

Pure rooms may use the logger only; services also `trimtab.obs.metrics`.
"""

from trimtab.obs.log import bound_fields, configure, get_logger

__all__ = ["bound_fields", "configure", "get_logger"]
