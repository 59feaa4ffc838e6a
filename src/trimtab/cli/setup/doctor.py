"""`trimtab doctor`: check what the commands need from this computer."""

from typing import Annotated

from cyclopts import Parameter


def doctor(
    *,
    json: Annotated[bool, Parameter(negative=(), help="Print JSON instead of lines.")] = False,
) -> int:
    """Check what the commands need, and say what to do where it is missing.

    Exits with 1 if something stops a command; warnings do not count.
    """
    from trimtab.cli.setup.doctor_probes import findings
    from trimtab.view.terminal import out, show_json

    found = findings()
    if json:
        show_json(found)
    else:
        for each in found:
            out.print(f"{each.state:<5} {each.check:<11} {each.says}", markup=False)
            if each.fix:
                out.print(f"{'':<17} -> {each.fix}", markup=False)
    return 1 if any(each.state == "FAIL" for each in found) else 0
