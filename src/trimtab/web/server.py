"""The page's server: static files, the history, one stream of changes, and answers to clicks.

Nothing here writes to the cluster but `_change`, `_policy` and `_plan`, behind everything that
`Gate.client_for` asks. What a viewer gets that falls behind or comes back is decided in
`feed/history.py` (`History.after`, `History.knows`).
"""

import asyncio
import mimetypes
from collections.abc import AsyncIterator, Awaitable, Callable
from gzip import compress
from importlib.resources import files
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct
from sse_starlette import EventSourceResponse
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from trimtab.errors import ConfigError, NotReady, TrimtabError
from trimtab.kube.errors import ApiError
from trimtab.kube.http.authorize import AccessDenied
from trimtab.kube.http.callers import TooLarge, bounded_body
from trimtab.obs import get_logger
from trimtab.web.access import Gate
from trimtab.web.changes import PolicyMap, VmChange, apply_candidate, carry_out
from trimtab.web.compare import PolicyCandidate
from trimtab.web.feed.history import History
from trimtab.web.feed.sources import FeedSource, Seen
from trimtab.web.plan_changes import PlanChange, carry_out_plan
from trimtab.web.why import Answers

log = get_logger()
MOST_VIEWERS = 200
STUCK_S = 30.0
UNSEEN_S = 60.0
"""Without a look for so long, the time between is asked for."""
MOST_BYTES = 4096
"""A change that is asked for is smaller."""
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
T = TypeVar("T")
Handler = Callable[[Request], Awaitable[Response]]


class Asset(Struct, frozen=True):
    """A static file, gzipped once."""

    kind: str
    data: bytes


def assets() -> dict[str, Asset]:
    """All files of the page by path; `/` is the document."""
    found = {}
    for entry in (files("trimtab.web") / "assets").iterdir():
        kind = mimetypes.guess_type(entry.name)[0] or "text/plain"
        if entry.is_file() and Path(entry.name).suffix in (".html", ".js", ".css", ".svg"):
            kind = "text/javascript" if entry.name.endswith(".js") else kind
            path = "/" if entry.name == "index.html" else f"/{entry.name}"
            found[path] = Asset(kind, compress(entry.read_bytes(), 9))
    return found


class Page:
    """One feed with everybody who looks at it."""

    def __init__(
        self,
        source: FeedSource,
        gate: Gate,
        keep: Path | None = None,
        policy_map: PolicyMap | None = None,
        beside: FeedSource | None = None,
    ) -> None:
        """`policy_map` is where a lab's policy is, which candidates can be applied to; `beside`
        is a file that viewers can compare with over time."""
        self._source, self._gate, self._keep = source, gate, keep
        self._policy_map = policy_map
        self._beside, self._history_beside = beside, History()
        self._assets = assets()
        self.history = History()
        self._answers: Answers | None = None
        self._asked = asyncio.Event()

    def routes(self) -> list[BaseRoute]:
        shown = [Route(path, self._open(self._asset)) for path in self._assets]
        return [
            *shown,
            Route("/v1/session", self._open(self._enter), methods=["POST"]),
            Route("/v1/session", self._closed(self._session)),
            Route("/v1/change", self._closed(self._change), methods=["POST"]),
            Route("/v1/history", self._closed(self._history)),
            Route("/v1/events", self._closed(self._events)),
            Route("/v1/node", self._closed(self._node)),
            Route("/v1/vm", self._closed(self._vm)),
            Route("/v1/scores", self._closed(self._scores)),
            Route("/v1/compare", self._closed(self._compare)),
            Route("/v1/places", self._closed(self._places)),
            Route("/v1/policy", self._closed(self._policy), methods=["POST"]),
            Route("/v1/plan", self._closed(self._plan), methods=["POST"]),
            Route("/v1/beside", self._closed(self._compared)),
        ]

    async def follow(self) -> None:
        """Take in what the source sees, until it ends; the page goes on showing the last."""
        await self._until_wanted()
        async with asyncio.TaskGroup() as tasks:
            last, rested = 0.0, True
            async for seen in self._source.looks():
                self._take(seen)
                if seen.picture.nodes:  # a first look that failed shows nothing to go on from
                    # a big cluster is looked at seldom, too: only who rested has missed something
                    if rested and seen.picture.at - last > UNSEEN_S and self._source.on_demand:
                        # viewers see the newest look at once, and the past when it is there
                        tasks.create_task(self._fill(last, seen.picture.at))
                    last, rested = seen.picture.at, False
                rested |= await self._until_wanted()

    async def _fill(self, after: float, until: float) -> None:
        """Ask for the time at which nobody looked; the page goes on without it."""
        try:
            self.history.fill(await self._source.past(after, until))
        except TrimtabError as error:
            log.warning("past not read", error=str(error))
        except Exception:  # the boundary of a task: the looks must go on without the past
            log.exception("past not read")

    async def follow_beside(self) -> None:
        """Take in the file that is compared with, and what is added to it later."""
        if self._beside is not None:
            async for seen in self._beside.looks():
                self._history_beside.publish(seen.picture)

    async def _until_wanted(self) -> bool:
        """While nobody looks and nothing is kept, a cluster is not asked; whether that was so."""
        if self._source.on_demand and self._keep is None and not self.history.viewers:
            self._asked.clear()
            await self._asked.wait()
            return True
        return False

    def _take(self, seen: Seen) -> None:
        first = self.history.number == 0
        if seen.change is not None:
            self.history.record(seen.change, seen.picture)
            change = seen.change
        else:
            change = self.history.publish(seen.picture)
        if seen.snapshot is not None:
            self._answers = Answers(seen.snapshot)
        if self._keep is not None:
            with self._keep.open("wb" if first else "ab") as file:
                line = seen.picture if first else change
                file.write(msgspec.json.encode(line) + b"\n")

    def _open(self, handler: Handler) -> Handler:
        """For everybody who comes from the right place."""

        async def checked(request: Request) -> Response:
            try:
                self._gate.check_site(request)
                response = await handler(request)
            except AccessDenied as denied:
                response = denied.answer()
                if denied.status == 401 and self._gate.viewers.signs_in:
                    response.headers["X-Trimtab-Sign-In"] = "yes"
            except TrimtabError as error:
                response = JSONResponse({"error": str(error)}, _status(error))
            for name, value in HEADERS.items():
                response.headers.setdefault(name, value)
            return response

        return checked

    def _closed(self, handler: Handler) -> Handler:
        """For those with the cookie or the token only."""

        async def checked(request: Request) -> Response:
            await self._gate.check(request)
            self._asked.set()
            return await handler(request)

        return self._open(checked)

    async def _asset(self, request: Request) -> Response:
        asset = self._assets[request.url.path]
        return Response(asset.data, media_type=asset.kind, headers={"Content-Encoding": "gzip"})

    async def _enter(self, request: Request) -> Response:
        response = Response(status_code=204)
        await self._gate.admit(request, response)
        return response

    async def _session(self, request: Request) -> Response:
        allowed = self._gate.changes
        told = {
            "changes": allowed,
            "csrf": self._gate.csrf(request) if allowed else "",
            "applies": allowed and self._policy_map is not None,
            "prometheus": _web_address(self._source.prometheus),
            "beside": self._beside.name if self._beside else "",
        }
        return _json(told)

    async def _change(self, request: Request) -> Response:
        client_of = self._gate.client_for(request)
        change = await _body(request, VmChange)
        return _json({"asked": await carry_out(change, client_of)})

    async def _policy(self, request: Request) -> Response:
        client_of = self._gate.client_for(request)
        candidate = await _body(request, PolicyCandidate)
        if self._policy_map is None:
            raise AccessDenied(
                403, "only a lab's policy is changed here; in a cluster: trimtab advisor"
            )
        return _json({"asked": await apply_candidate(candidate, self._policy_map, client_of)})

    async def _plan(self, request: Request) -> Response:
        client_of = self._gate.client_for(request)
        change = await _body(request, PlanChange)
        return _json({"asked": await carry_out_plan(change, client_of)})

    async def _compared(self, _: Request) -> Response:
        packed = await asyncio.to_thread(self._history_beside.packed)
        headers = {"Content-Encoding": "gzip"}
        return Response(packed, media_type="application/json", headers=headers)

    async def _history(self, request: Request) -> Response:
        whole = "newest-first" not in request.query_params or not self.history.is_long
        pack = self.history.packed if whole else self.history.packed_newest
        packed = await asyncio.to_thread(pack)
        headers = {
            "Content-Encoding": "gzip",
            "X-Trimtab-Whole": "yes" if whole else "no",
            "X-Trimtab-Source": _ascii(self._source.name),
            "X-Trimtab-Explains": "yes" if self._source.explains else "no",
        }
        return Response(packed, media_type="application/json", headers=headers)

    async def _events(self, request: Request) -> Response:
        if self.history.viewers >= MOST_VIEWERS:
            raise NotReady(f"{MOST_VIEWERS} viewers follow already; close one")
        given = request.headers.get("last-event-id") or request.query_params.get("after", "")
        epoch, _, number = given.partition("-")
        seen = int(number) if number.isdecimal() and len(number) < 16 else -1
        return EventSourceResponse(
            self._stream(seen, known=self.history.knows(epoch, seen)), send_timeout=STUCK_S, ping=15
        )

    async def _stream(self, number: int, *, known: bool) -> AsyncIterator[bytes]:
        history = self.history
        if known:
            async for each in history.after(number):
                yield b"id: %s-%d\ndata: %s\n\n" % (
                    history.epoch.encode(), each.number, each.data,
                )  # fmt: skip
        # A slow viewer never comes here: it gets all later changes, the older ones joined.
        # This one names an epoch that is over: the server was restarted or the past filled in.
        yield b"event: again\ndata: {}\n\n"
        await asyncio.sleep(1)

    async def _node(self, request: Request) -> Response:
        answers, name = self._known(), request.query_params.get("name", "")
        return _json(await asyncio.to_thread(answers.node, name))

    async def _vm(self, request: Request) -> Response:
        answers, name = self._known(), request.query_params.get("name", "")
        return _json(await asyncio.to_thread(answers.vm, name))

    async def _scores(self, _: Request) -> Response:
        answers = self._known()
        samples = await self._source.scores()
        return _json(await asyncio.to_thread(answers.scores, samples))

    async def _compare(self, request: Request) -> Response:
        a, b = (_candidate(request.query_params.get(side, "{}")) for side in ("a", "b"))
        answers = self._known()
        samples = await self._source.scores()
        return _json(await asyncio.to_thread(answers.compare, a, b, samples))

    async def _places(self, _: Request) -> Response:
        return _json(await self._source.places())

    def _known(self) -> Answers:
        if self._answers is None:
            raise NotReady(
                "nothing was seen yet that explains; a feed from a file holds numbers only"
            )
        return self._answers


def _status(error: TrimtabError) -> int:
    """As the API server said it, where it said something."""
    if isinstance(error, ApiError) and 400 <= error.code < 500:
        # a session of the page's own is not over because the API server refused something
        return 403 if error.code == 401 else error.code
    return 404 if isinstance(error, ConfigError) else 503


async def _body(request: Request, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(await bounded_body(request.receive, MOST_BYTES), type=kind)
    except TooLarge as error:
        raise AccessDenied(413, f"a change has at most {MOST_BYTES} bytes") from error
    except msgspec.MsgspecError as error:
        raise AccessDenied(400, f"not a change that the page knows: {error}") from error


def _candidate(text: str) -> PolicyCandidate:
    try:
        return msgspec.json.decode(text, type=PolicyCandidate)
    except msgspec.MsgspecError as error:
        raise AccessDenied(400, f"not a candidate: {error}") from error


def _web_address(url: str) -> str:
    """What a browser may open; never a link that runs something, or with a password in it."""
    fine = url.startswith(("http://", "https://")) and "@" not in url
    return url if fine else ""


def _json(answer: object) -> Response:
    return Response(msgspec.json.encode(answer), media_type="application/json")


def _ascii(name: str) -> str:
    return name.encode("ascii", "replace").decode().replace("\n", " ").replace("\r", " ")
