"""Pseudonyms for the words of a cluster: the same word always becomes the same pseudonym.

One dictionary serves all kinds of words, because the rules compare across them: a node's name
is also a sample's `instance`, a label's value and a field of an affinity. Pseudonyms of one kind
sort as their originals do, and none of them is a word that is kept.
"""

from collections.abc import Iterable

# Names that everybody has, and that tell nothing.
PUBLIC = frozenset(
    {
        "",
        "true",
        "app",
        "false",
        "default",
        "kube-system",
        "kube-public",
        "kube-node-lease",
        "kube-descheduler",
        "monitoring",
        "system-cluster-critical",
        "system-node-critical",
        "virt-launcher",
        "linux",
        "amd64",
        "arm64",
        "metadata.name",
    }
)
PUBLIC_DOMAINS = (
    "kubernetes.io",
    "k8s.io",
    "kubevirt.io",
    "openshift.io",
    "trimtab.dev",
)
_ORDER = ("node", "namespace", "vm", "pod", "claim", "class", "label", "uid", "word")


class Pseudonyms:
    """Words with the kind that they were first met as; ask only after all words were added."""

    def __init__(self, keep: Iterable[str] = ()) -> None:
        self._keep = PUBLIC | set(keep)
        self._kinds: dict[str, str] = {}
        self._names: dict[str, str] | None = None

    def add(self, kind: str, words: Iterable[str]) -> None:
        for word in words:
            if not self.is_kept(word):
                self._kinds.setdefault(word, kind)

    def is_kept(self, word: str) -> bool:
        """A public word, or a label key of a domain that everybody uses."""
        if word in self._keep or word in PUBLIC_DOMAINS:
            return True
        domain, slash, _ = word.partition("/")
        return bool(slash) and any(
            domain == known or domain.endswith(f".{known}") for known in PUBLIC_DOMAINS
        )

    def __call__(self, word: str) -> str:
        if self.is_kept(word):
            return word
        if self._names is None:
            self._names = self._assign()
        return self._names[word]

    def _assign(self) -> dict[str, str]:
        names: dict[str, str] = {}
        for kind in _ORDER:
            words = sorted(word for word, its in self._kinds.items() if its == kind)
            width = len(str(len(words)))
            prefix = kind
            # a pseudonym must not be a word that stays as it is
            while any(word.startswith(f"{prefix}-") for word in self._keep):
                prefix += "x"
            names |= {word: f"{prefix}-{at:0{width}}" for at, word in enumerate(words, 1)}
        return names
