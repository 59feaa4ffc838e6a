"""`trimtab`: the groups of commands, and what happens to their errors.

Groups are named by import path, so that `trimtab --help` loads none of them; a new group
is one line in `groups.GROUPS`.
"""

import sys
from collections.abc import Sequence
from contextlib import suppress

from cyclopts import (
    App,
    CycloptsError,
    MissingArgumentError,
    Parameter,
    UnknownCommandError,
    UnusedCliTokensError,
)

from trimtab import __version__
from trimtab.cli.common.numbers import finite
from trimtab.cli.common.streams import discard, prepare
from trimtab.cli.groups import GROUPS, path_of
from trimtab.errors import TrimtabError


def _worth_showing(value: object) -> str | None:
    """Defaults that tell something; a flag is off and a text empty unless it is given."""
    return None if value is None or value is False or value == "" else str(value)


app = App(
    name="trimtab",
    version=__version__,
    help="Keep a cluster of virtual machines level with the fewest, safest moves.",
    help_format="plaintext",
    suppress_keyboard_interrupt=False,
    default_parameter=Parameter(validator=finite, show_default=_worth_showing),
    help_epilogue="Every command has --help with examples; --debug shows where an error came from.",
)
app.command(
    "trimtab.cli.completion:install",
    name="--install-completion",
    help="Install shell completion for this application.\n\n"
    "This command generates and installs the completion script to the appropriate location for "
    "your shell. After installation, you may need to restart your shell or source your shell "
    "configuration file.",
)
for _name, (_, _help) in GROUPS.items():
    app.command(path_of(_name), name=_name, help=_help)


def run() -> None:
    """The console script: 0 done, 1 failed, 2 bad input or usage, 130 interrupted."""
    prepare()
    sys.exit(_run(sys.argv[1:]))


def _run(given: list[str]) -> int:
    debug = "--debug" in given
    arguments = [argument for argument in given if argument != "--debug"]
    try:
        result = app(
            arguments, result_action="return_value", exit_on_error=False, print_error=False
        )
        sys.stdout.flush()
    except CycloptsError as error:
        return _say(usage(error, arguments), 2)
    except TrimtabError as error:
        if debug:
            raise
        return _say(str(error), error.exit_code)
    except KeyboardInterrupt:
        return _say("interrupted", 130)
    except BrokenPipeError:  # the reader (head, less) has seen enough
        discard(sys.stdout)
        return 0
    except (OSError, UnicodeError) as error:
        if debug:
            raise
        discard(sys.stdout)
        return _say(trouble(error), 1)
    return result if isinstance(result, int) else 0


def _say(text: str, code: int) -> int:
    from trimtab.view.as_typed import as_typed

    with suppress(OSError):  # a closed stderr leaves the exit code to tell
        print(f"trimtab: {as_typed(text)}", file=sys.stderr, flush=True)
    return code


def trouble(error: OSError | UnicodeError) -> str:
    """One line for what no command expected of a file or a stream."""
    if isinstance(error, UnicodeError):
        return f"a file is not UTF-8 text ({error}); --debug shows which"
    why = error.strerror or str(error)
    if error.filename is None:
        return f"the result cannot be written: {why}"
    return f"{error.filename}: {why}"


def usage(error: CycloptsError, arguments: Sequence[str]) -> str:
    """What is wrong with the command line, in our words, and where help is."""
    chain = " ".join(error.command_chain or ())
    where = f"see: trimtab {chain} --help".replace("  ", " ")
    return f"{' '.join(_said(error).split())}; {where}"


def _said(error: CycloptsError) -> str:
    if isinstance(error, UnusedCliTokensError):
        return f"not understood: {' '.join(error.unused_tokens or ())}"
    if isinstance(error, MissingArgumentError) and error.argument is not None:
        name = error.argument.name
        is_position = not error.argument.parameter.name or error.argument.index is not None
        return f"{name.lstrip('-').upper()} is missing" if is_position else f"{name} is missing"
    if isinstance(error, UnknownCommandError):
        unknown, _, meant = str(error).partition(" Available commands:")[0].partition(". Did you ")
        return f"{unknown} (did you {meant})" if meant else unknown.rstrip(".")
    return str(error).rstrip(".")
