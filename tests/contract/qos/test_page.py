"""The page over HTTP: text, JSON, tags, wrong questions, events."""

import msgspec

from builders.values.kube import pod_to_create
from builders.values.qos import running_qos
from builders.waiting import until
from trimtab.kube.client import Client
from trimtab.kube.resources import PODS
from trimtab.qos.page.text import HEADER
from trimtab.qos.settings import QosSettings

SETTINGS = QosSettings(port=0, bindings="", measure_only=True)


async def test_the_page_and_its_api(client: Client, account: Client, namespace: str) -> None:
    async with running_qos(account, SETTINGS) as running:
        await client.create(PODS, pod_to_create("only-here", namespace))
        accounts = running.qos.tracker.ledger.accounts
        await until(
            lambda: any(each.owner.namespace == namespace for each in accounts.values()), "the pod"
        )
        header, *rows = (await running.text(f"/?ns={namespace}")).splitlines()
        assert header == HEADER
        assert [row.split()[0] for row in rows] == ["only-here"]
        assert rows[0].endswith("~0s"), "nobody measured the binding"
        for query in ("sort=ttv", "sort=deadline", "wide=1", "sort=deadline&wide=1"):
            shown = await running.text(f"/?ns={namespace}&{query}")
            assert shown.startswith(HEADER)
            assert "only-here" in shown
        assert (await running.http.get("/?sort=luck")).status_code == 400
        as_json = await running.text("/", accept="application/json")
        assert msgspec.json.decode(as_json)["apiVersion"] == "qos.trimtab.dev/v1alpha1"
        browser = await running.http.get(f"/?ns={namespace}", headers={"accept": "text/html"})
        assert browser.text.startswith("<!doctype html>")
        assert f"{namespace}/only-here" in browser.text
        assert browser.headers["x-content-type-options"] == "nosniff"
        assert (await running.http.get("/v1/explain?pod=nobody")).status_code == 400
        assert (await running.http.get("/v1/explain?pod=a/b")).status_code == 404
        assert (await running.http.get("/v1/history?uid=none")).status_code == 404
        assert (await running.http.post("/")).status_code == 405
        assert (await running.http.get("/readyz")).status_code == 200
        first = await running.http.get(f"/?ns={namespace}-nobody")
        again = await running.http.get(
            f"/?ns={namespace}-nobody", headers={"if-none-match": first.headers["etag"]}
        )
        assert (again.status_code, again.content) == (304, b"")
        async with running.http.stream("GET", f"/v1/events?ns={namespace}") as stream:
            lines = stream.aiter_lines()
            assert await anext(lines) == "event: controllers"
            data = (await anext(lines)).removeprefix("data: ")
            assert msgspec.json.decode(data)["controllers"][0]["name"] == "only-here"
