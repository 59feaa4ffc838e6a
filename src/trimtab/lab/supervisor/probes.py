"""Carrying out readiness probes. The answer is what is still missing, or nothing."""

import asyncio
import ssl
from pathlib import Path

import httpx2
from msgspec import Struct

from trimtab.errors import TrimtabError
from trimtab.lab.api import Api
from trimtab.lab.components.component import (
    ApiGet,
    HttpGet,
    HttpsGet,
    LogLine,
    Probe,
    Restart,
    SocketAccepts,
)
from trimtab.lab.files import logs

LIMIT_S = 5.0
LONGEST_WORDS = 100


class ProbeTarget(Struct, frozen=True):
    """Whom to probe: the lab's directory, and the component's log from where this start began."""

    directory: Path
    log: Path
    log_from: int


async def missing(probe: Probe, target: ProbeTarget, api: Api, plain: httpx2.AsyncClient) -> str:
    """What this probe still misses in words; empty when it is satisfied."""
    match probe:
        case HttpsGet(url=url, contains=text, anonymous=anonymous):
            return await _fetch(plain if anonymous else api.http, url, text)
        case HttpGet(url=url, contains=text):
            return await _fetch(plain, url, text)
        case SocketAccepts(path=path):
            return await _accepts(target.directory / path)
        case LogLine(text=text):
            seen = logs.contains(target.log, text, target.log_from)
            return "" if seen else f'no line with "{text}" in its log yet'
        case ApiGet(path=path):
            return await _exists(api, path)


async def _fetch(client: httpx2.AsyncClient, url: str, text: str) -> str:
    try:
        answer = await client.get(url, timeout=LIMIT_S)
    except (httpx2.HTTPError, ssl.SSLError) as error:
        return f"{url}: {str(error) or type(error).__name__}"
    if answer.status_code != 200:
        return f"{url} answers {answer.status_code}"
    return "" if text in answer.text else _shown(url, answer.text, text)


def _shown(url: str, page: str, wanted: str) -> str:
    """What a page says instead, if it says it in a few words: that is how far it has come."""
    line = page.strip()
    if not line or "\n" in line or len(line) > LONGEST_WORDS:
        return f'{url} does not show "{wanted}" yet'
    return line


async def _accepts(path: Path) -> str:
    # the directory may be too deep for a socket's path; a short way round is /proc/self/cwd,
    # because the supervisor's working directory is the lab's
    short = Path("/proc/self/cwd") / path.name
    try:
        async with asyncio.timeout(LIMIT_S):
            _, writer = await asyncio.open_unix_connection(str(short))
    except (OSError, TimeoutError) as error:
        return f"{path.name}: {error or 'no answer'}"
    writer.close()
    return ""


async def _exists(api: Api, path: str) -> str:
    try:
        await api.get(path)
    except TrimtabError as error:
        return f"{path}: {error}"
    return ""


# When to start a dead component again: a pure decision.


class Again(Struct, frozen=True):
    """Start it after `wait_s`; `quick_deaths` is what to remember."""

    wait_s: float
    quick_deaths: int


class GiveUp(Struct, frozen=True):
    """It died too often too soon: somebody must look."""

    quick_deaths: int


def after_death(rule: Restart, quick_deaths: int, lived_s: float) -> Again | GiveUp:
    """A long life forgives everything; quick deaths double the wait until there are too many."""
    if lived_s >= rule.quick_s:
        return Again(rule.first_s, 0)
    count = quick_deaths + 1
    if count >= rule.give_up_after:
        return GiveUp(count)
    return Again(min(rule.longest_s, rule.first_s * 2 ** (count - 1)), count)
