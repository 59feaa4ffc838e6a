"""A whole service: health over HTTP, its end, certificates that change under it."""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest
import trustme
from prometheus_client.parser import text_string_to_metric_families
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from builders.proxies.faults import FaultProxy
from builders.waiting import LIMIT_S, until
from trimtab.errors import ConfigError, Unavailable
from trimtab.kube.client import Client
from trimtab.kube.http.web import KEPT_ALIVE_S, Tls, Web
from trimtab.kube.resources import CONFIG_MAPS, LEASES, Key
from trimtab.kube.runtime.controller import Controller, Done, Outcome
from trimtab.kube.runtime.lease import Elector, Terms
from trimtab.kube.runtime.reflector import Reflector
from trimtab.kube.runtime.service import Service


@asynccontextmanager
async def serving(service: Service) -> AsyncIterator[None]:
    task = asyncio.create_task(service.run())
    try:
        yield
    finally:
        service.stop()
        await task


async def fetch(web: Web, path: str) -> httpx2.Response:
    async with httpx2.AsyncClient() as http:
        return await http.get(f"http://127.0.0.1:{web.port}{path}")


async def test_a_service_is_ready_when_its_stores_are_and_says_what_it_holds(
    proxy: FaultProxy, client: Client, namespace: str
) -> None:
    done: list[Key] = []

    async def reconcile(key: Key) -> Outcome:
        done.append(key)
        return Done()

    await client.create(CONFIG_MAPS, {"metadata": {"name": "a"}}, namespace)
    async with Client.from_kubeconfig(proxy.kubeconfig, limit_s=5) as behind:
        maps = Reflector(behind, CONFIG_MAPS, namespace=namespace, name="maps")
        elector = Elector(behind, "boss", namespace, "me", terms=Terms(60, 40, 0.2))
        controller = Controller("greeter", reconcile).follow(maps)
        web = Web()
        service = Service(
            "test", reflectors=[maps], controllers=[controller], elector=elector, web=web
        )
        proxy.set("refuse")
        async with serving(service):
            await until(lambda: maps.trouble is not None)
            assert (await fetch(web, "/readyz")).status_code == 503
            assert (await fetch(web, "/healthz")).json()["stores"]["maps"]["trouble"]
            proxy.heal()
            await until(lambda: done == [Key(namespace, "a")])
            ready = await fetch(web, "/readyz")
            assert ready.status_code == 200
            assert ready.json()["leading"] is True
            assert ready.json()["stores"]["maps"]["objects"] == 1
            names = {
                family.name
                for family in text_string_to_metric_families((await fetch(web, "/metrics")).text)
            }
    expected = {
        "trimtab_kube_watch_restarts",
        "trimtab_kube_last_event_age_seconds",
        "trimtab_kube_objects",
        "trimtab_kube_requests",
        "trimtab_queue_depth",
        "trimtab_reconcile_seconds",
        "trimtab_leader",
        "trimtab_events",
    }
    assert expected <= names
    assert (await client.get(LEASES, "boss", namespace)).spec.holder_identity == ""


async def test_a_part_that_fails_ends_the_service_with_its_own_words(client: Client) -> None:
    async def job() -> None:
        raise Unavailable("prometheus: no answer; is it running?")

    with pytest.raises(Unavailable, match="is it running"):
        await Service("test", jobs=[job]).run()


def test_a_port_in_use_is_told_at_once() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigError, match=f"127.0.0.1:{port}: .*choose a free port"):
            Web(port=port)


def test_missing_certificates_are_the_users_to_fix(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such file"):
        Tls(tmp_path / "tls.crt", tmp_path / "tls.key")


async def test_an_idle_connection_is_the_clients_to_close() -> None:
    """A server that closes first loses the request that is on its way (uvicorn: after 5 s)."""

    async def hello(_: Request) -> PlainTextResponse:
        return PlainTextResponse("hello")

    assert KEPT_ALIVE_S > 90  # Go's clients
    web = Web([Route("/", hello)])
    task = asyncio.create_task(web.run())
    reader, writer = await asyncio.open_connection("127.0.0.1", web.port)
    for idle_s in (6, 0):
        writer.write(b"GET / HTTP/1.1\r\nhost: here\r\n\r\n")
        answer = await asyncio.wait_for(reader.readuntil(b"hello"), LIMIT_S)
        assert answer.startswith(b"HTTP/1.1 200")
        await asyncio.sleep(idle_s)
    writer.close()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_a_new_certificate_is_served_without_a_restart(tmp_path: Path) -> None:
    ca = trustme.CA()
    tls = write_certificate(ca, tmp_path)

    async def hello(_: Request) -> PlainTextResponse:
        return PlainTextResponse("hello")

    web = Web([Route("/", hello)], tls=tls)
    task = asyncio.create_task(web.run())
    trusting = ssl.create_default_context()
    ca.configure_trust(trusting)
    async with httpx2.AsyncClient(verify=trusting) as http:
        first = await serial(trusting, web.port)
        write_certificate(ca, tmp_path)
        while await serial(trusting, web.port) == first:
            await asyncio.sleep(0.02)
        assert (await http.get(f"https://127.0.0.1:{web.port}/")).text == "hello"
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def write_certificate(ca: trustme.CA, directory: Path) -> Tls:
    issued = ca.issue_cert("127.0.0.1")
    certificate, key = directory / "tls.crt", directory / "tls.key"
    issued.private_key_pem.write_to_path(str(key))
    issued.cert_chain_pems[0].write_to_path(str(certificate))
    return Tls(certificate, key, poll_s=0.05)


async def serial(trusting: ssl.SSLContext, port: int) -> str:
    _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=trusting)
    certificate = writer.get_extra_info("peercert")
    writer.close()
    return str(certificate["serialNumber"])
