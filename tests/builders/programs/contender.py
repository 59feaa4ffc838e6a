"""A candidate for a lease in a process of its own: `contender.py KUBECONFIG NAMESPACE IDENTITY`.

While it leads it creates ConfigMaps labelled with its name: the order of their resourceVersions
is the order in which the API server saw the contenders act. After each it prints a line and
pauses, so that a test can freeze it while no write is on its way.
"""

import asyncio
import sys
from contextlib import suppress
from pathlib import Path

from trimtab.kube.client import Client
from trimtab.kube.resources import CONFIG_MAPS
from trimtab.kube.runtime.lease import Elector, NotLeading, Terms
from trimtab.kube.runtime.service import Service, run

PAUSE_S = 0.25
TERMS = Terms(duration_s=10, renew_within_s=8, retry_s=0.5)
"""On a crowded machine a process may not run for seconds: that must not cost it its lease."""


async def main(kubeconfig: Path, namespace: str, identity: str) -> None:
    # Two connections, so that a write never waits for a renewal: the worst case.
    async with Client.from_kubeconfig(kubeconfig) as one, Client.from_kubeconfig(kubeconfig) as two:
        elector = Elector(one, "boss", namespace, identity, terms=TERMS)
        leading = two.guarded(elector.check)
        act = {"metadata": {"generateName": "act-", "labels": {"by": identity}}}

        async def lead() -> None:
            while True:
                with suppress(NotLeading):
                    await leading.create(CONFIG_MAPS, act, namespace)
                print("acted", flush=True)
                await asyncio.sleep(PAUSE_S)

        await Service("contender", jobs=[lambda: elector.run(lead)]).run()


if __name__ == "__main__":
    run(main(Path(sys.argv[1]), sys.argv[2], sys.argv[3]))
