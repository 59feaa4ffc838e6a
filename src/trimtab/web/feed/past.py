"""What was before the page's first look, or while nobody looked: pictures from Prometheus.

It is read as `trimtab record` reads it, so loads and places have the same sources and repairs.
The recorded scores at each moment are judged with the policy of today: what the policy was then
nobody keeps. Evictions that a cycle would have asked for are not told: they depend on pods.
"""

import asyncio
import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec.structs import replace

from trimtab.kube.client import Client
from trimtab.model.recorded.recording import ClusterRecording
from trimtab.model.snapshot import QueryResult, Sample, Snapshot
from trimtab.observe.policy_source import Source
from trimtab.observe.record.recorder import Recorder, Wanted
from trimtab.prom.client import Prometheus, QueryFailed, Series
from trimtab.web.feed.from_snapshot import node_classes
from trimtab.web.feed.picture import NodeState, Picture
from trimtab.web.feed.recordings import moments_of

SPANS_S = (3600.0, 6 * 3600.0, 86_400.0, 7 * 86_400.0, 30 * 86_400.0)
"""How far back Prometheus is asked, step by step, until its series begin within such a span."""
MOST_MOMENTS, MOST_JUDGED = 360, 60_000
"""Moments, and nodes times moments: classes of 1,000 nodes cost 0.1 s of CPU a moment."""
FINEST_S = 5.0
NOTE = "from Prometheus, judged with today's policy"


class PastReader:
    """Reads the past of one cluster."""

    def __init__(self, client: Client, prometheus: Prometheus) -> None:
        self._client, self._prometheus = client, prometheus

    async def pictures(self, policy: Source, after: float, until: float) -> Sequence[Picture]:
        """Moments after `after` and before `until`; none where Prometheus was not there yet."""
        begun = max(after, await self._begun(until) or until)
        if until - begun < 2 * FINEST_S:
            return ()
        with TemporaryDirectory(prefix="trimtab-past-") as folder:
            recorder = Recorder(self._client, self._prometheus, Path(folder), pace_s=0.0)
            nodes = await self._count("count(count by (node, instance) (node_cpu_usage_ratio))")
            step_s = step_for(until - begun, nodes)
            # the recorder's moments end now, which may be long after `until`
            days = (datetime.now(UTC).timestamp() - begun) / 86_400
            wanted = Wanted("page", self._prometheus.url, days, step_s)
            found = await recorder.read(await recorder.begin(wanted, policy, ()), lambda _: None)
        scores = await self._scores(found)
        made = await asyncio.to_thread(lambda: list(past_pictures(found, scores)))
        return [picture for picture in made if after < picture.at < until]

    async def _begun(self, until: float) -> float | None:
        """Since when Prometheus knows loads of nodes, or scores; None if it never did."""
        begun = None
        for span in SPANS_S:
            step_s = span / 240
            query = 'count({__name__=~"node_cpu_usage_ratio|descheduler:node:.+:avg1m"})'
            found = await self._prometheus.range(query, until - span, until, step_s)
            begun = min((series.times[0] for series in found if series.times), default=begun)
            if begun is not None and begun > until - span + 5 * step_s:
                break
        return begun

    async def _count(self, query: str) -> int:
        return int(sum(sample.value for sample in await self._prometheus.instant(query)))

    async def _scores(self, recording: ClusterRecording) -> Sequence[Series]:
        """What the policy's query gave at each moment; nothing where that cannot be asked."""
        query, manifest = recording.snapshot.query, recording.manifest
        if query is None:
            return ()
        end = manifest.start + (manifest.moments - 1) * manifest.step_s
        try:
            return await self._prometheus.range(query.query, manifest.start, end, manifest.step_s)
        except QueryFailed:  # a query that gives a scalar, or is too much for a range
            return ()


def step_for(span_s: float, nodes: int) -> float:
    """Seconds between two moments, in whole ones."""
    moments = min(MOST_MOMENTS, max(60, MOST_JUDGED // max(1, nodes)))
    return float(max(FINEST_S, math.ceil(span_s / moments)))


def past_pictures(recording: ClusterRecording, scores: Sequence[Series]) -> Iterator[Picture]:
    """The recording's moments, with the classes that the scores of each gave its nodes."""
    by_moment = _by_moment(recording, scores)
    for moment, picture in moments_of(recording):
        judged = _judged(recording.snapshot, picture, by_moment.get(moment, ()))
        over = sum(node.kind == "over" for node in judged.values()) if judged else None
        cluster = replace(picture.cluster, over=over, notes=(NOTE,))
        yield replace(picture, nodes=picture.nodes | judged, cluster=cluster)


def _by_moment(
    recording: ClusterRecording, scores: Sequence[Series]
) -> Mapping[int, Sequence[Sample]]:
    manifest = recording.manifest
    found: dict[int, list[Sample]] = {}
    for series in scores:
        for at, value in zip(series.times, series.values, strict=True):
            moment = round((at - manifest.start) / manifest.step_s)
            found.setdefault(moment, []).append(Sample(series.labels, repr(value)))
    return found


def _judged(
    snapshot: Snapshot, picture: Picture, samples: Sequence[Sample]
) -> dict[str, NodeState]:
    if not samples or snapshot.query is None:
        return {}
    at = datetime.fromtimestamp(picture.at, UTC)
    query = QueryResult(time=at, query=snapshot.query.query, samples=tuple(samples))
    found = node_classes(replace(snapshot, query=query))
    return {
        name: replace(
            node,
            kind=found[name].kind,
            percent=found[name].percent,
            low=found[name].low,
            high=found[name].high,
        )
        for name, node in picture.nodes.items()
        if name in found
    }
