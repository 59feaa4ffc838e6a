"""`trimtab run`: one service in this process, the same in a lab and in a Deployment.

Every service ends with 0 on SIGTERM, with 2 on a bad configuration and with 1 otherwise.
"""

from cyclopts import App

from trimtab.stacks.registry import help_texts

app = App(name="run", help="One service in this process, until SIGTERM.")

for _name, _help in help_texts().items():
    _path = f"trimtab.cli.services.run.service:{_name.replace('-', '_')}"
    app.command(_path, name=_name, help=_help)
