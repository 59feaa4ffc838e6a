"""Finding a built program: cheap, without Go, and only if it is whole and for our pins."""

from pathlib import Path

import msgspec
import pytest

from builders.proxies.scripted_go import a_cache, a_go, build_quietly
from trimtab.engines import cache_dir, locate
from trimtab.engines.cache import MANIFEST, CacheManifest, find
from trimtab.errors import ConfigError, NotReady


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        pytest.param({"HOME": "/home/a"}, "/home/a/.cache/trimtab/engines", id="below home"),
        pytest.param(
            {"HOME": "/home/a", "XDG_CACHE_HOME": "/big"},
            "/big/trimtab/engines",
            id="XDG says where",
        ),
        pytest.param(
            {"HOME": "/home/a", "XDG_CACHE_HOME": "big"},
            "/home/a/.cache/trimtab/engines",
            id="a relative XDG directory is ignored, as its specification says",
        ),
    ],
)
def test_the_cache_is_where_the_environment_says(
    environment: dict[str, str], expected: str
) -> None:
    assert cache_dir(environment) == Path(expected)


def test_what_is_not_built_is_an_error_that_says_how(tmp_path: Path) -> None:
    with pytest.raises(NotReady, match=r"^etcd is not built; run: trimtab engines build$"):
        locate("etcd", tmp_path)


def test_an_unknown_name_is_an_error_that_names_the_engines(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError, match=r'^there is no engine "etdc"; .*kube-scheduler.*promtool'
    ):
        locate("etdc", tmp_path)


def test_a_built_program_is_found_with_no_go_around(tmp_path: Path) -> None:
    cache = a_cache(tmp_path, "etcd")
    (tmp_path / "bin" / "go").unlink()
    assert locate("etcd", cache).parent.parent == cache


def test_the_youngest_of_two_compilers_wins(tmp_path: Path) -> None:
    cache = a_cache(tmp_path, "etcd")
    first = locate("etcd", cache)
    a_go(tmp_path / "bin", version="go1.26.2")
    build_quietly(("etcd",), tmp_path, cache, force=True)
    found = find("etcd", cache)
    assert found is not None
    assert found.manifest.go_version == "go1.26.2"
    assert first.exists()


def _cut(binary: Path) -> None:
    binary.write_bytes(binary.read_bytes()[:-1])


def _remove_manifest(binary: Path) -> None:
    (binary.parent / MANIFEST).unlink()


def _write_half_a_manifest(binary: Path) -> None:
    manifest = binary.parent / MANIFEST
    manifest.write_bytes(manifest.read_bytes()[:100])


def _pin_otherwise(binary: Path) -> None:
    path = binary.parent / MANIFEST
    made = msgspec.json.decode(path.read_bytes(), type=CacheManifest)
    pins = msgspec.structs.replace(made.pins, go_sum="other")
    path.write_bytes(msgspec.json.encode(msgspec.structs.replace(made, pins=pins)))


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(Path.unlink, id="the program is gone"),
        pytest.param(_cut, id="the program is cut off"),
        pytest.param(_remove_manifest, id="the manifest is gone"),
        pytest.param(_write_half_a_manifest, id="the manifest is cut off"),
        pytest.param(_pin_otherwise, id="the manifest does not fit its directory's name"),
    ],
)
def test_a_damaged_entry_is_not_found_and_the_next_build_replaces_it(
    tmp_path: Path, damage: object
) -> None:
    cache = a_cache(tmp_path, "etcd")
    assert callable(damage)
    damage(locate("etcd", cache))
    assert find("etcd", cache) is None
    assert [built.new for built in build_quietly(("etcd",), tmp_path, cache)] == [True]
    assert locate("etcd", cache).exists()
