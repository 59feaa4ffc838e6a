"""Writes every generated file of the repository; with --check it only compares.

Each generator is a pure function `() -> {path: text}` next to the types it prints;
this file only lists them.
"""

import importlib
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# "module:function" of each generator
GENERATORS: tuple[str, ...] = (
    "trimtab.install.advisor.manifests:generate",
    "trimtab.advisor.mocks.manifests:generate",
    "trimtab.install.advisor.reference:generate",
    "trimtab.cli.groups:generate",
    "trimtab.install.balancer.manifests:generate",
    "trimtab.exporter.http.openapi:generate",
    "trimtab.install.loop.manifests:generate",
    "trimtab.install.page.manifests:generate",
    "trimtab.install.qos.host_manifests:generate",
    "trimtab.model.scenarios.reference:generate",
    "trimtab.install.observe.rbac:generate",
    "trimtab.truth.lint.catalogue:generate",
    "trimtab.install.qos.manifests:generate",
    "trimtab.scores.prometheus.files:generated_files",
    "trimtab.stacks.reference:generate",
    "trimtab.scores.reference:generate",
    "trimtab.install.vm.reference:generate",
)


def generated() -> dict[Path, str]:
    files: dict[Path, str] = {}
    for name in GENERATORS:
        module, function = name.split(":")
        generate: Callable[[], dict[str, str]] = getattr(importlib.import_module(module), function)
        files |= {ROOT / path: text for path, text in generate().items()}
    return files


def main() -> int:
    stale = [p for p, text in generated().items() if not p.exists() or p.read_text() != text]
    if "--check" in sys.argv[1:]:
        for path in stale:
            print(f"{path.relative_to(ROOT)} is not what its generator writes; run: make generate")
        return 1 if stale else 0
    for path, text in generated().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    print(f"{len(stale)} files written" if stale else "nothing changed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
