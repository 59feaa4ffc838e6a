"""The few endpoints of Prometheus' HTTP API that we use, as typed calls with time limits.

Values stay exactly what Prometheus printed: its JSON carries the shortest text that reads
back as the same double, so a comparison with our own arithmetic can be exact.
"""

import asyncio
import ssl
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, Self, TypeVar

import httpx2
import msgspec
from msgspec import Struct, field

from trimtab.errors import ConfigError, NotReady, TrimtabError, Unavailable

# A least time between two requests, for servers that ask for it.


class RequestPacer:
    """Requests take turns; those that come at the same time wait one after the other."""

    def __init__(self, least_s: float = 0.0) -> None:
        self._least_s, self._next_at = least_s, 0.0
        self.turns = 0

    async def turn(self) -> None:
        """Wait until the next request may be sent."""
        self.turns += 1
        now = asyncio.get_running_loop().time()
        at = max(self._next_at, now)
        self._next_at = at + self._least_s
        if at > now:
            await asyncio.sleep(at - now)


# Whom a connection to Prometheus trusts, and what a failed handshake means.


def trusting(authorities: Sequence[str]) -> ssl.SSLContext:
    """This computer's certificate authorities (or those of SSL_CERT_FILE) and some more, as PEM."""
    context = httpx2.create_ssl_context()
    for text in authorities:
        try:
            context.load_verify_locations(cadata=text)
        except ssl.SSLError as error:
            raise ConfigError(
                "the certificate authority for Prometheus is not PEM; "
                "give a file that begins with -----BEGIN CERTIFICATE-----"
            ) from error
    return context


def tls_trouble(error: BaseException) -> str:
    """What is wrong with the certificate and what to do; empty if that is not the trouble."""
    for cause in _causes(error):
        if isinstance(cause, ssl.SSLCertVerificationError):
            return _verdict(cause)
        if isinstance(cause, ssl.SSLError):
            return f"no TLS connection ({cause.reason or cause}); is it https, or http?"
    return ""


def _verdict(error: ssl.SSLCertVerificationError) -> str:
    why = error.verify_message.rstrip(".")
    if "hostname" in why.lower() or "ip address" in why.lower():
        return f"its certificate is for another name ({why}); use the name it is made for"
    if "expired" in why:
        return f"its certificate is not valid any more ({why})"
    return f"its certificate is not trusted ({why}); give its authority with --prometheus-ca FILE"


def _causes(error: BaseException) -> Iterable[BaseException]:
    seen: BaseException | None = error
    while seen is not None:
        yield seen
        seen = seen.__cause__ or seen.__context__


T = TypeVar("T")
WHOLE_ANSWERS = {"dedup": "true", "partial_response": "false", "max_source_resolution": "0s"}
"""Parameters of Thanos; Prometheus does not know them and passes over them."""


class QueryFailed(TrimtabError):
    """Prometheus understood the request and refused it: a bad query, or too much data."""

    kind = ""
    """Prometheus' own word: bad_data, execution, timeout, …"""


class NoAnswer(Unavailable):
    """The connection broke, or nothing came in time: asking again may help."""


class PartialAnswer(Unavailable):
    """Prometheus answered, and said that something is missing in its answer."""


class Sample(Struct, frozen=True):
    """One series at one moment."""

    labels: dict[str, str]
    time: float
    value: float


class Verbatim(Struct, frozen=True):
    """An instant answer as it was sent: any type of result, and values as texts."""

    result_type: str
    samples: tuple[tuple[dict[str, str], str], ...] = ()
    """Labels and value, in the order of the response; none for a matrix."""


class Series(Struct, frozen=True):
    """One series over time; both arrays have the same length."""

    labels: dict[str, str]
    times: tuple[float, ...]
    values: tuple[float, ...]


class ScrapeTarget(Struct, frozen=True, rename="camel"):
    """Something that is scraped, and how the last scrape went."""

    labels: dict[str, str] = {}
    scrape_url: str = ""
    health: Literal["up", "down", "unknown"] = "unknown"
    last_error: str = ""


class LoadedRule(Struct, frozen=True, rename="camel"):
    name: str
    type: Literal["recording", "alerting"]
    query: str = ""
    health: str = ""
    last_error: str = ""
    state: str = ""


class RuleGroup(Struct, frozen=True, rename="camel"):
    name: str
    file: str = ""
    interval: float = 0.0
    rules: tuple[LoadedRule, ...] = ()
    evaluation_time: float = 0.0
    last_evaluation: datetime | None = None
    """None before the first one."""


class _Answer(Struct, rename="camel"):
    status: str
    data: msgspec.Raw = msgspec.Raw(b"null")
    error: str = ""
    error_type: str = ""
    warnings: tuple[str, ...] = ()


class _Point(Struct):
    metric: dict[str, str] = {}
    value: tuple[float, str] = (0.0, "NaN")
    values: tuple[tuple[float, str], ...] = ()


class _Result(Struct, rename="camel"):
    result_type: str
    result: msgspec.Raw


class _Targets(Struct, rename="camel"):
    active_targets: tuple[ScrapeTarget, ...] = ()


class _Groups(Struct):
    groups: tuple[RuleGroup, ...] = field(default=())


class Prometheus:
    """One server; use as an async context manager."""

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        limit_s: float = 10.0,
        verify: bool | ssl.SSLContext = True,
        pace_s: float = 0.0,
    ) -> None:
        """pace_s: the least time between two requests, for servers that ask for it."""
        self.url = url.rstrip("/")
        self.pace = RequestPacer(pace_s)
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._http = httpx2.AsyncClient(
            base_url=self.url, headers=headers, timeout=limit_s, verify=verify
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http.aclose()

    async def ready(self) -> bool:
        """Whether it answers and has loaded what it needs."""
        try:
            return (await self._http.get("/-/ready")).status_code == 200
        except httpx2.HTTPError:
            return False

    async def instant(self, query: str, at: float | None = None) -> Sequence[Sample]:
        """The vector that `query` gives now, or at a moment in Unix seconds."""
        result = await self._query(query, at)
        if result.result_type == "scalar":
            time, value = self._read(result.result, tuple[float, str])
            return [Sample({}, time, float(value))]
        if result.result_type != "vector":
            raise QueryFailed(f"{query}: gives a {result.result_type}, expected a vector")
        points = self._points(result)
        return [Sample(p.metric, p.value[0], float(p.value[1])) for p in points]

    async def verbatim(self, query: str, at: float | None = None) -> Verbatim:
        """What `query` gives, without any reading of it: for those who judge the answer."""
        result = await self._query(query, at)
        if result.result_type in ("scalar", "string"):
            _, value = self._read(result.result, tuple[float, str])
            return Verbatim(result.result_type, (({}, value),))
        if result.result_type != "vector":
            return Verbatim(result.result_type)
        return Verbatim("vector", tuple((p.metric, p.value[1]) for p in self._points(result)))

    async def by_label(self, query: str, label: str = "instance") -> Mapping[str, float]:
        """The vector as value by `label`."""
        return {sample.labels.get(label, ""): sample.value for sample in await self.instant(query)}

    async def range(self, query: str, start: float, end: float, step_s: float) -> Sequence[Series]:
        """The matrix that `query` gives between two moments in Unix seconds."""
        params = {"query": query, "start": repr(start), "end": repr(end), "step": repr(step_s)}
        return self._matrix(await self._call("POST", "/api/v1/query_range", _Result, params))

    async def whole_range(
        self, query: str, start: float, end: float, step_s: float
    ) -> Sequence[Series]:
        """As `range`, but an answer in part is an error: of Thanos' stores none may be missing."""
        params = {"query": query, "start": repr(start), "end": repr(end), "step": repr(step_s)}
        params |= WHOLE_ANSWERS
        return self._matrix(
            await self._call("POST", "/api/v1/query_range", _Result, params, whole=True)
        )

    async def samples(self, selector: str, window: str) -> Sequence[Series]:
        """Every sample of a selector within `window` (such as 10m) before now, as it was stored."""
        return self._matrix(await self._query(f"{selector}[{window}]"))

    async def targets(self) -> Sequence[ScrapeTarget]:
        """What is being scraped."""
        answer = await self._call("GET", "/api/v1/targets", _Targets, {"state": "active"})
        return answer.active_targets

    async def rules(self) -> Sequence[RuleGroup]:
        """The rule groups that are loaded, with the health of each rule."""
        return (await self._call("GET", "/api/v1/rules", _Groups)).groups

    async def _query(self, query: str, at: float | None = None) -> _Result:
        params = {"query": query} | ({} if at is None else {"time": repr(at)})
        return await self._call("POST", "/api/v1/query", _Result, params)

    def _points(self, result: _Result) -> tuple[_Point, ...]:
        return self._read(result.result, tuple[_Point, ...])

    def _matrix(self, result: _Result) -> list[Series]:
        return [_series(point) for point in self._points(result)]

    async def _call(
        self,
        verb: Literal["GET", "POST"],
        path: str,
        kind: type[T],
        params: Any = None,
        *,
        whole: bool = False,
    ) -> T:
        await self.pace.turn()
        try:
            if verb == "POST":
                response = await self._http.post(path, data=params)
            else:
                response = await self._http.get(path, params=params)
        except httpx2.HTTPError as error:
            trouble = tls_trouble(error)
            why = trouble or f"does not answer ({type(error).__name__}); is it running?"
            failure = Unavailable if trouble else NoAnswer
            raise failure(f"Prometheus at {self.url}{':' * bool(trouble)} {why}") from error
        self._check_whom(response)
        if response.status_code == 503:
            raise NotReady(f"Prometheus at {self.url} is starting; try again in a moment")
        try:
            answer = msgspec.json.decode(response.content, type=_Answer)
            if answer.status not in ("success", "error"):
                raise self._stranger(path, response.status_code)
            if answer.status == "error":
                failed = QueryFailed(f"Prometheus: {answer.error_type}: {answer.error}")
                failed.kind = answer.error_type
                raise failed
            if whole and answer.warnings:
                raise PartialAnswer(f"Prometheus at {self.url}: {'; '.join(answer.warnings)}")
            return msgspec.json.decode(answer.data, type=kind)
        except msgspec.MsgspecError as error:
            raise self._stranger(path, response.status_code) from error

    def _check_whom(self, response: httpx2.Response) -> None:
        """Refusals by whatever stands in front of Prometheus are no answers of it."""
        if response.status_code in (401, 403):
            raise Unavailable(
                f"Prometheus at {self.url} refuses this user (HTTP {response.status_code}); "
                "give a token that may read it with --prometheus-token-file"
            )
        if response.is_redirect:
            raise Unavailable(
                f"Prometheus at {self.url} sends on to {response.headers.get('location', '?')}, "
                "perhaps to log in; give the address that serves /api/v1/query, and a token"
            )

    def _read(self, raw: msgspec.Raw, kind: type[T]) -> T:
        try:
            return msgspec.json.decode(raw, type=kind)
        except msgspec.MsgspecError as error:
            raise self._stranger("/api/v1/query", 200) from error

    def _stranger(self, path: str, code: int) -> Unavailable:
        return Unavailable(
            f"{self.url}{path} answered {code} and not as Prometheus does; check the address"
        )


def _series(point: _Point) -> Series:
    times = tuple(time for time, _ in point.values)
    return Series(point.metric, times, tuple(float(value) for _, value in point.values))
