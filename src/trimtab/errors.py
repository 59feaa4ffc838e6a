"""Errors, named for what the caller can do about them.

Every message says what is wrong, where, and what to do next, on one line:
`node "n7": capacity cpu is 0; set spec.capacity.cpu`. `trimtab` prints it and exits
with `exit_code`; a traceback is for `--debug`.
"""


class TrimtabError(Exception):
    """Anything that trimtab reports to its user rather than crashing on."""

    exit_code = 1


class ConfigError(TrimtabError):
    """The input is wrong: fix it and try again. Nothing was changed."""

    exit_code = 2


class Conflict(TrimtabError):
    """Someone else changed it in the meantime: read again, decide again."""


class NotReady(TrimtabError):
    """It is on its way: wait."""


class Unavailable(TrimtabError):
    """The other side does not answer: back off and retry."""
