"""Keeping service-account tokens fresh, as the kubelet does for pods."""

import asyncio
from typing import TYPE_CHECKING

from trimtab.errors import TrimtabError
from trimtab.lab.components.component import TokenFile
from trimtab.lab.supervisor.actions import renew_token
from trimtab.obs import get_logger

if TYPE_CHECKING:
    from trimtab.lab.supervisor.run import Supervisor

log = get_logger()

LOOK_S = 1.0
RETRY_S = 5.0


async def keep_tokens(supervisor: "Supervisor") -> None:
    """Renew each token of the plan when its time has come; a failure is reported and retried."""
    clock = asyncio.get_running_loop().time
    due: dict[TokenFile, float] = {}
    while True:
        for token in supervisor.plan.tokens:
            if not supervisor.states.ready(["tokens"]):
                due[token] = clock() + token.renew_after_s
            elif clock() >= due.setdefault(token, clock()):
                worked = await _renewed(supervisor, token)
                due[token] = clock() + (token.renew_after_s if worked else RETRY_S)
        await asyncio.sleep(LOOK_S)


async def _renewed(supervisor: "Supervisor", token: TokenFile) -> bool:
    topic = f"token of {token.service}"
    try:
        await renew_token(supervisor.api, supervisor.lab.path, token)
    except (TrimtabError, OSError) as error:
        supervisor.states.warn(topic, f"the {topic} could not be renewed: {error}")
        return False
    supervisor.states.warn(topic, "")
    log.info("token renewed", service=token.service)
    return True
