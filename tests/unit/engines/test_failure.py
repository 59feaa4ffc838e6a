"""What go prints when it fails, and the one line the user gets for it."""

import pytest

from trimtab.engines.failure import Phase, explain

NO_HOST = (
    'go: k8s.io/api@v0.36.3: Get "https://proxy.example.org/k8s.io/api/@v/v0.36.3.mod": '
    "dial tcp: lookup proxy.example.org: no such host"
)


@pytest.mark.parametrize(
    ("phase", "output", "expected"),
    [
        pytest.param(
            "download",
            [NO_HOST],
            "its modules could not be downloaded (go: k8s.io/api",
            id="no network",
        ),
        pytest.param(
            "download",
            ["go: a@v1: reading https://proxy.example.org/a: 403 Forbidden"],
            "its modules could not be downloaded",
            id="the proxy refuses",
        ),
        pytest.param(
            "download",
            ["go: a@v1: module lookup disabled by GOPROXY=off"],
            "its modules could not be downloaded",
            id="the user has turned it off",
        ),
        pytest.param(
            "download",
            ["go: downloading a v1", "verifying a@v1: checksum mismatch", "SECURITY ERROR"],
            "a module is not the pinned one (verifying a@v1: checksum mismatch)",
            id="a module with another content",
        ),
        pytest.param(
            "compile",
            ["k8s.io/a", "write $WORK/b001/_pkg_.a: no space left on device", NO_HOST],
            "the disk is full (write $WORK/b001/_pkg_.a: no space left on device); free 6 GB",
            id="a full disk comes before all that follows from it",
        ),
        pytest.param(
            "compile",
            [
                "k8s.io/a",
                "# k8s.io/b",
                "cmd/x/main.go:3:5: undefined: y",
                "cmd/x/main.go:9:1: more",
            ],
            "did not compile: cmd/x/main.go:3:5: undefined: y; log: L",
            id="the first compile error",
        ),
        pytest.param(
            "compile",
            ["k8s.io/a: /usr/local/go/pkg/tool/linux_amd64/compile: signal: killed"],
            "probably for want of memory",
            id="the kernel killed the compiler",
        ),
        pytest.param(
            "download",
            ["go: errors parsing go.mod:", "go.mod:3: unknown directive: nonsense"],
            "has a module that go cannot load: go.mod:3: unknown directive",
            id="anything else: the last line that says something",
        ),
        pytest.param("compile", ["k8s.io/a", "k8s.io/b"], "no reason was given", id="no reason"),
    ],
)
def test_the_line_names_the_cause(phase: Phase, output: list[str], expected: str) -> None:
    error = explain("etcd", phase, output, "L")
    assert expected in str(error)
    assert str(error).startswith("etcd")
    assert str(error).endswith("log: L")
    assert "\n" not in str(error)
    assert error.exit_code == 1


def test_a_long_line_is_cut() -> None:
    error = explain("etcd", "compile", ["a.go:1:1: " + "x" * 1000], "L")
    assert len(str(error)) < 300
