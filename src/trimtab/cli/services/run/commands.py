"""`trimtab run`: one service in this process, the same in a lab and in a Deployment.

Every service ends with 0 on SIGTERM, with 2 on a bad configuration and with 1 otherwise.
"""

from cyclopts import App

from trimtab.stacks.registry import service_names

app = App(name="run", help="One service in this process, until SIGTERM.")

for _name in service_names():
    app.command(f"trimtab.cli.services.run.service:{_name.replace('-', '_')}", name=_name)
