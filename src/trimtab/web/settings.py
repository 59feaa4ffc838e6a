"""How the page is set up as a service; each field is an option of `trimtab run page`."""

from pathlib import Path
from typing import Annotated

from trimtab.kube.runtime.options import Listening, Option, Port, Seconds

NAME = "page"


class PageSettings(Listening, frozen=True, kw_only=True):
    """The page's options."""

    port: Port = 8080
    token_file: Path | None = None
    """Holds the token of the page's address; made on first use, for its owner only."""
    sign_in: bool = False
    """Viewers sign in with a token of the cluster, and look and act with their own rights."""
    allow_changes: bool = False
    """Viewers who signed in may migrate VMs, cancel that, keep VMs where they are, and approve,
    cancel or take back plans: with their own rights."""
    names: Annotated[tuple[str, ...], Option(names=("--name",), write=tuple, several=True)] = ()
    """A further HOST or HOST:PORT under which the page is asked for, e.g. that of a proxy."""
    title: str = "cluster"
    """What the page calls the cluster."""
    prometheus: str = ""
    """Prometheus that records the scores and measures the nodes."""
    policy: Path | None = None
    """The descheduler's policy file, read for each look; without it the ConfigMap in the
    cluster."""
    background: bool = False
    """EvictionsInBackground is on, whatever the flags of a descheduler in the cluster say."""
    every_s: Seconds = 2.0
    """Time between two looks at the cluster while somebody looks at the page."""
