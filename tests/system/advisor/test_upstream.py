"""`target: upstream` on plain Kubernetes: the plan is approved, and the loop runs with it."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from builders.labs.lab import running_lab
from builders.labs.loops import ONE_HOT_NODE, LoopLab
from builders.waiting import wait_until
from trimtab.model.scenarios.io import load_scenario
from trimtab.policy.file.default import DEFAULT_POLICY
from trimtab.stacks.advisor.stack import AdvisorStackSettings, advisor_stack
from trimtab.stacks.loop.projector.projection import ACCEPTED, JUDGED, OUTCOME, digest
from trimtab.stacks.loop.scenario.objects import script_of
from trimtab.stacks.loop.settings import POLICY_FILE, POLICY_KEY, LoopSettings, following
from trimtab.stacks.loop.stack import loop_stack
from trimtab.stacks.loop.state.ready import await_cycle

pytestmark = [pytest.mark.engines, pytest.mark.full]
NAME = "load-aware-rebalancing"
POLICY = ("configmap", "descheduler-policy", "-n", "kube-descheduler")
ASKED = "descheduler:node:cpu_focused:avg1m"


@pytest.fixture(scope="module")
def loop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LoopLab]:
    """A loop with the operator beside it."""
    scenario = load_scenario(ONE_HOT_NODE)
    settings = following(LoopSettings(), scenario)
    stacks = (
        loop_stack(settings, script=script_of(scenario), policy=DEFAULT_POLICY),
        advisor_stack(AdvisorStackSettings()),
    )
    with running_lab(tmp_path_factory, stacks=stacks, scale=15, nodes=len(scenario.nodes)) as lab:
        asyncio.run(await_cycle(lab.lab))
        yield LoopLab(lab, scenario)


def config(loop: LoopLab) -> dict[str, Any]:
    found: dict[str, Any] = loop.lab.get("virtplatformconfig", NAME)
    return found


def await_phase(loop: LoopLab, phase: str) -> dict[str, Any]:
    def there() -> bool:
        seen = config(loop)
        status = seen.get("status") or {}
        answered = status.get("observedGeneration") == seen["metadata"]["generation"]
        return answered and status.get("phase") == phase

    wait_until(there, f"{NAME} is not {phase}")
    status: dict[str, Any] = config(loop)["status"]
    return status


def act(loop: LoopLab, **spec: str) -> None:
    patch = json.dumps({"spec": spec})
    loop.lab.kubectl("patch", "virtplatformconfig", NAME, "--type=merge", "-p", patch)


def await_projected(loop: LoopLab) -> str:
    """The policy once the projector has taken it: what the lab's descheduler reads."""

    def judged() -> bool:
        found = loop.lab.get(*POLICY)
        notes = found["metadata"].get("annotations") or {}
        is_judged: bool = notes.get(JUDGED) == digest(found["data"][POLICY_KEY])
        assert not is_judged or notes[OUTCOME] == ACCEPTED, notes[OUTCOME]
        return is_judged

    wait_until(judged, "nobody took the policy")
    return (loop.lab.dir / POLICY_FILE).read_text()


def test_an_approved_plan_is_what_the_loop_goes_by(loop: LoopLab) -> None:
    assert ASKED not in await_projected(loop)
    wanted = {
        "apiVersion": "advisor.kubevirt.io/v1alpha1",
        "kind": "VirtPlatformConfig",
        "metadata": {"name": NAME},
        "spec": {
            "profile": NAME,
            "action": "DryRun",
            "options": {
                "loadAware": {
                    "target": "upstream",
                    "algorithm": "cpu_focused",
                    "evictionLimitTotal": 4,
                }
            },
        },
    }
    loop.apply(yaml.safe_dump(wanted))
    status = await_phase(loop, "ReviewRequired")
    by_name = {item["name"]: item["diff"] for item in status["items"]}
    assert "(no changes)" in by_name["configure-recording-rules"]
    assert f"query: {ASKED}" in by_name["configure-descheduler-policy"]

    act(loop, action="Apply", approvedPlan=status["planId"])
    await_phase(loop, "Completed")
    projected = yaml.safe_load(await_projected(loop))
    assert projected["maxNoOfPodsToEvictTotal"] == 4
    assert ASKED in str(projected)
    loop.start_over()
    story = loop.converge()
    assert story.deviation_after < story.deviation_before
    assert story.migrations
    assert config(loop)["status"]["phase"] == "Completed"

    act(loop, action="Rollback")
    status = await_phase(loop, "ReviewRequired")
    act(loop, approvedPlan=status["planId"])
    await_phase(loop, "RolledBack")
    assert ASKED not in await_projected(loop)
