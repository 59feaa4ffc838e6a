"""What the projector makes of a ConfigMap: pure decisions, and what it writes on it.

A text is judged once; its hash on the ConfigMap says which text was meant. A text that was
refused changes nothing that runs.
"""

from collections.abc import Callable
from hashlib import sha256

from msgspec import Struct

from trimtab.errors import ConfigError
from trimtab.kube.resources import ConfigMap

WISHED = "trimtab.dev/wished"
"""Hash of the text that `lab up` last put here; another one replaces what people applied."""
JUDGED = "trimtab.dev/judged"
"""Hash of the newest text that was looked at."""
RUNNING = "trimtab.dev/running"
"""Hash of the text that runs: the judged one, unless that was refused."""
OUTCOME = "trimtab.dev/outcome"
ACCEPTED = "accepted"
LONGEST = 2000


class Part(Struct, frozen=True):
    """One ConfigMap and the file made of it; both functions raise ConfigError on a bad text.

    `convert` is a pure function of the text; `check` may ask a program, and is asked once.
    """

    namespace: str
    name: str
    key: str
    file: str
    component: str
    convert: Callable[[str], str]
    check: Callable[[str], None] = lambda _text: None

    def __str__(self) -> str:
        return f"ConfigMap {self.namespace}/{self.name}"


class Keep(Struct, frozen=True):
    """Nothing to do: this text was judged before, and the file is what it should be."""


class Refuse(Struct, frozen=True):
    """The old text keeps running; `why` is for the person who applied the new one."""

    digest: str
    why: str


class Use(Struct, frozen=True):
    """Write `text` to the file, and make the program read it."""

    digest: str
    text: str


Verdict = Keep | Refuse | Use


def digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:16]


def judge(part: Part, config: ConfigMap, on_disk: str | None) -> Verdict:
    """What to do about a ConfigMap as it is now, with the file as it is now."""
    text = config.data.get(part.key)
    if text is None:
        keys = ", ".join(sorted(config.data)) or "none"
        refusal = Refuse(digest(""), f"it has no key {part.key} (it has {keys})")
        known = config.metadata.annotations.get(OUTCOME)
        return Keep() if known == outcome(refusal.why) else refusal
    mark, annotations = digest(text), config.metadata.annotations
    if annotations.get(JUDGED) == mark and annotations.get(OUTCOME) != ACCEPTED:
        return Keep()  # it was refused, and is the same
    try:
        converted = part.convert(text)
    except ConfigError as error:
        return Refuse(mark, str(error))
    said = {JUDGED: mark, RUNNING: mark, OUTCOME: ACCEPTED}
    if on_disk == converted and said.items() <= annotations.items():
        return Keep()
    return Use(mark, converted)


def outcome(why: str) -> str:
    """The annotation of a refusal, on one line and not too long."""
    return f"refused: {' '.join(why.split())}"[:LONGEST]


def needs_seeding(config: ConfigMap | None, wanted: str) -> bool:
    """Whether `lab up` asked for another text than the last time it asked."""
    return config is None or config.metadata.annotations.get(WISHED) != digest(wanted)
