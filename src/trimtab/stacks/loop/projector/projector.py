"""The projector: ConfigMaps with policy and rules become files, and programs read them.

`kubectl apply`, `trimtab lab algorithm` and the advisor all take this path. A bad text is
refused on the ConfigMap itself, and the old one keeps running, in the file too: a restart
never meets a file that was not accepted.
"""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from trimtab.errors import TrimtabError, Unavailable
from trimtab.files.writing import write_private
from trimtab.kube.apply import apply
from trimtab.kube.client import Client
from trimtab.kube.http.web import Web, probe_route
from trimtab.kube.resources import CONFIG_MAPS, ConfigMap, Key, ObjectMeta
from trimtab.kube.runtime.controller import Controller, Done
from trimtab.kube.runtime.reflector import Reflector
from trimtab.kube.runtime.service import Job, Service
from trimtab.obs import get_logger
from trimtab.obs.metrics import counter
from trimtab.stacks.loop.projector.programs import Programs
from trimtab.stacks.loop.projector.projection import (
    ACCEPTED,
    JUDGED,
    OUTCOME,
    RUNNING,
    WISHED,
    Keep,
    Part,
    Refuse,
    Use,
    digest,
    judge,
    needs_seeding,
    outcome,
)

NAME = "projector"
log = get_logger()
projections = counter("trimtab_projections_total", "Texts by what became of them", "map", "outcome")


class WantedText(Struct, frozen=True):
    """The text that `lab up` wants in a part's ConfigMap, in a file of the lab."""

    part: Part
    file: Path


class Projector:
    """Follows the ConfigMaps of its parts."""

    def __init__(
        self,
        client: Client,
        wanted_texts: Sequence[WantedText],
        programs: Programs,
        directory: Path,
    ) -> None:
        self._client, self._programs, self._directory = client, programs, directory
        self._wanted_texts = wanted_texts
        self._parts = {Key(w.part.namespace, w.part.name): w.part for w in wanted_texts}
        self.maps = [self._reflector(wanted.part) for wanted in wanted_texts]
        self.controller = Controller(NAME, self.reconcile, workers=1, limit_s=300.0)
        for reflector in self.maps:
            self.controller.follow(reflector)
        self._projected: set[Key] = set()

    def _reflector(self, part: Part) -> Reflector[ConfigMap]:
        return Reflector(
            self._client,
            CONFIG_MAPS,
            namespace=part.namespace,
            fields=f"metadata.name={part.name}",
            name=part.name,
        )

    @property
    def ready(self) -> bool:
        """Whether every part has a file that was accepted."""
        return self._projected == set(self._parts)

    async def seed(self) -> None:
        """Put what `lab up` asked for into the ConfigMaps, if it asks for something new."""
        for wanted, reflector in zip(self._wanted_texts, self.maps, strict=True):
            text, part = wanted.file.read_text(), wanted.part
            if needs_seeding(reflector.store.get(part.name, part.namespace), text):
                metadata = _named(part, {WISHED: digest(text)})
                seeded = ConfigMap(metadata=metadata, data={part.key: text})
                await apply(self._client, CONFIG_MAPS, seeded, manager="trimtab-lab", force=True)
                log.info("text seeded", map=str(part))

    async def reconcile(self, key: Key) -> Done:
        part = self._parts[key]
        config = self._config(key)
        if config is None:
            log.warning("map deleted; what runs goes on", map=str(part))
            return Done()
        match judge(part, config, self._on_disk(part)):
            case Keep():
                pass
            case Refuse(digest=mark, why=why):
                await self._refuse(part, mark, why)
            case Use(digest=mark, text=text):
                await self._use(part, mark, text)
        if self._on_disk(part) is not None:
            self._projected.add(key)
        return Done()

    async def _use(self, part: Part, mark: str, text: str) -> None:
        """Try the new text; if the program does not take it, go back to the old one."""
        old = self._on_disk(part)
        try:
            if old != text:
                await asyncio.to_thread(part.check, text)
                await self._install(part, old, text)
        except Unavailable:  # the program was just killed or is busy: that is not the text's fault
            raise
        except TrimtabError as error:
            await self._refuse(part, mark, str(error))
            return
        await self._annotate(part, {JUDGED: mark, RUNNING: mark, OUTCOME: ACCEPTED})
        for key, other in self._parts.items():  # which rules are needed often depends on the policy
            if other != part:
                self.controller.queue.add(key)
        projections.labels(part.name, "accepted").inc()
        log.info("text accepted", map=str(part), hash=mark)

    async def _install(self, part: Part, old: str | None, text: str) -> None:
        path = self._directory / part.file
        write_private(path, text)
        try:
            await self._programs.take(part.component)
        except TrimtabError as error:
            if old is None:
                path.unlink()
            else:
                write_private(path, old)
                if not isinstance(error, Unavailable):
                    await self._programs.take(part.component)
            raise

    async def _refuse(self, part: Part, mark: str, why: str) -> None:
        await self._annotate(part, {JUDGED: mark, OUTCOME: outcome(why)})
        projections.labels(part.name, "refused").inc()
        log.warning("text refused", map=str(part), hash=mark, why=why)

    async def _annotate(self, part: Part, annotations: dict[str, str]) -> None:
        patch = {"metadata": {"annotations": annotations}}
        await self._client.patch(CONFIG_MAPS, part.name, patch, part.namespace)

    def _config(self, key: Key) -> ConfigMap | None:
        found = (reflector.store.get(key.name, key.namespace) for reflector in self.maps)
        return next((config for config in found if config is not None), None)

    def _on_disk(self, part: Part) -> str | None:
        path = self._directory / part.file
        return path.read_text() if path.exists() else None


def _named(part: Part, annotations: dict[str, str]) -> ObjectMeta:
    return ObjectMeta(name=part.name, namespace=part.namespace, annotations=annotations)


async def serve(projector: Projector, *, host: str, port: int, extra: Sequence[Web] = ()) -> None:
    """Run until SIGTERM; `extra` are further ports to serve."""
    web = Web([probe_route("projected", lambda: projector.ready)], host=host, port=port)
    jobs: list[Job] = [projector.seed, *(each.run for each in extra)]
    service = Service(
        NAME, reflectors=projector.maps, controllers=[projector.controller], jobs=jobs, web=web
    )
    await service.run()
