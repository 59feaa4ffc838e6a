"""`trimtab lab`: a real Kubernetes control plane with fake nodes on this computer."""

from cyclopts import App

from trimtab.cli.common.output import examples

app = App(name="lab", help="A real Kubernetes control plane with fake nodes on this computer.")

# A command is loaded when it is called: `lab kubectl` must be quick.
app.command(
    "trimtab.cli.lab.up:up",
    name="up",
    help="Start a lab, or resume it with its data and ports; returns when everything is ready.\n\n"
    "What is not given stays as it is, or takes its default in a new lab. A running lab only "
    "grows (`--nodes`); any other change is refused while it runs.",
    help_epilogue=examples(
        "trimtab lab up",
        "trimtab lab up --scale 10 --algorithm cpu_focused",
        "trimtab lab up --scenario examples/scenarios/diurnal.yaml --migration recreate",
        "trimtab lab up --name mine --recording my.trimtab --scale 10 --compress 12",
        "trimtab lab up --with none --nodes 100 --placement binpack",
        "trimtab lab up --with loop --with qos",
        "trimtab lab up --name openshift --with advisor --ocp 5.14 --scale 10",
        "trimtab lab up --name second --scheduler-config my-scheduler.yaml",
    ),
)
_LIVE, _MANAGE, _REACH = (f"trimtab.cli.lab.{module}:" for module in ("live", "manage", "reach"))
app.command(
    "trimtab.cli.lab.status:status",
    name="status",
    help_epilogue=examples("trimtab lab status", "trimtab lab status --json | jq .phase"),
)
app.command(
    f"{_LIVE}algorithm",
    name="algorithm",
    help="Change the node score that the descheduler goes by, while the lab runs.",
    help_epilogue=examples("trimtab lab algorithm", "trimtab lab algorithm cpu_focused"),
)
app.command(
    f"{_LIVE}scenario",
    name="scenario",
    help="Show the scenario, or start over with the VMs of one, while the lab runs.",
    help_epilogue=examples(
        "trimtab lab scenario", "trimtab lab scenario diurnal", "trimtab lab scenario --again"
    ),
)
app.command(
    f"{_LIVE}watch",
    name="watch",
    help="Nodes with bars and classes, evictions and migrations, live.",
    help_epilogue=examples("trimtab lab watch", "trimtab lab watch --once --json"),
)
app.command(
    f"{_LIVE}links",
    name="test",
    help="Is the loop closed? Each link, and what to look at if one is broken.",
    help_epilogue=examples("trimtab lab test", "trimtab lab test --json | jq .ok"),
)
app.command(f"{_MANAGE}down", name="down", help_epilogue=examples("trimtab lab down"))
app.command(f"{_MANAGE}list_", name="list", help_epilogue=examples("trimtab lab list"))
app.command(
    f"{_REACH}logs",
    name="logs",
    help_epilogue=examples(
        "trimtab lab logs kube-scheduler -f", "trimtab lab logs supervisor -n 20"
    ),
)
app.command(
    f"{_MANAGE}restart",
    name="restart",
    help_epilogue=examples("trimtab lab restart kube-scheduler"),
)
app.command(
    f"{_REACH}kubectl",
    name="kubectl",
    help_flags=[],  # kubectl has a --help and a --version of its own
    version_flags=[],
    end_of_options_delimiter="",
    help_epilogue=examples(
        "trimtab lab kubectl get nodes", "trimtab lab kubectl --name second get pods -A"
    ),
)
app.command(
    f"{_REACH}kubeconfig",
    name="kubeconfig",
    help_epilogue=examples("export KUBECONFIG=$(trimtab lab kubeconfig)"),
)
app.command(
    f"{_MANAGE}wipe", name="wipe", help_epilogue=examples("trimtab lab wipe --name second --yes")
)
app.command(
    f"{_MANAGE}bundle",
    name="bundle",
    help_epilogue=examples("trimtab lab bundle", "trimtab lab bundle /tmp/lab.tar.gz"),
)
