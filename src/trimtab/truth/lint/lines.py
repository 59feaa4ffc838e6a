"""Where a field of a policy stands in its file."""

import re

import yaml

_STEP = re.compile(r"([^.\[\]]+)|\[(\d+)\]")


def line_of(text: str, field: str) -> int | None:
    """The line, from 1, of the deepest part of `field` that the text has."""
    try:
        node = yaml.compose(text, Loader=yaml.CSafeLoader)
    except yaml.YAMLError:
        return None
    line = None
    for name, index in _STEP.findall(field):
        found = _child(node, name, index)
        if found is None:
            return line
        line, node = found
    return line


def _child(node: yaml.Node | None, name: str, index: str) -> tuple[int, yaml.Node] | None:
    if index and isinstance(node, yaml.SequenceNode) and int(index) < len(node.value):
        item = node.value[int(index)]
        return item.start_mark.line + 1, item
    if name and isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value == name:
                return key.start_mark.line + 1, value
    return None
