"""The stock descheduler and the balancer on the same start, in two labs one after the other.

Each lab is new, has the same scenario and the same scale, and is looked at for the same time
from the moment at which its VMs run. What was measured goes to docs/images/side-by-side.json,
the figure of the first two labs to docs/images/side-by-side.svg. The table has the mean of the
labs with least and most, and what the simulator says of the same time.

Run: scripts/side-by-side [SCENARIO] [--minutes 40] [--scale 15] [--runs 1] [--side NAME]
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from msgspec import Struct
from msgspec import json as msgjson

from trimtab.kube.virtual_machines import VirtualMachineMigration
from trimtab.lab.files.layout import Home
from trimtab.stacks.loop.connection import Loop, open_loop
from trimtab.study.extra import need
from trimtab.study.figures.files import STYLE, save_all
from trimtab.study.figures.looks import ACCENT, GOLD, INK, MUTED, sheet, tidy

ROOT = Path(__file__).parents[1]
TRIMTAB = (sys.executable, "-m", "trimtab.cli")
SIDES = {
    "stock descheduler": ("--with", "loop"),
    "balancer": ("--with", "loop", "--with", "balancer", "--balancer", "act"),
}
SIMULATED = {
    "stock descheduler": ("--victims", "stock"),
    # the balancer's own band and limits
    "balancer": ("--victims", "planned", "--thresholds", "0:5", "--limits", "3:1"),
}
SEEDS = 20
COLOURS = {"stock descheduler": GOLD, "balancer": ACCENT}
OVERLOAD = 0.8


class Side(Struct, frozen=True, kw_only=True, rename="camel"):
    """One lab's run. Times are minutes of the lab since the VMs ran."""

    name: str
    minutes: list[float]
    imbalance: list[float]
    """Standard deviation of the nodes' CPU use, in points, at each scrape."""
    highest: list[float]
    """CPU use of the fullest node, in percent."""
    moved: list[float]
    """When each migration was over that succeeded."""
    failed: int
    moved_again: int
    """Migrations of VMs that had moved before."""
    overload_s: float
    """Node seconds above 80 % of CPU, of the lab's time."""


def main() -> None:
    given = arguments()
    names = given.side or list(SIDES)
    sides = []
    for _ in range(given.runs):
        with tempfile.TemporaryDirectory(prefix="side-by-side-") as state:
            sides += [one_side(name, Path(state), given) for name in names]
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "side-by-side.json").write_bytes(msgjson.format(msgjson.encode(sides)) + b"\n")
    draw(sides[: len(names)], given.out, given.scenario)
    for name in names:
        rows = [figures(side) for side in sides if side.name == name]
        show(f"{name}, {len(rows)} labs", rows)
        show(f"{' '.join(SIMULATED[name])}, {SEEDS} simulated", simulated(name, given))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "scenario", nargs="?", default=str(ROOT / "examples" / "scenarios" / "spiky.yaml")
    )
    parser.add_argument("--minutes", type=float, default=40.0, help="of the lab's time")
    parser.add_argument("--scale", type=int, default=15)
    parser.add_argument("--runs", type=int, default=1, help="labs for each side")
    parser.add_argument("--side", action="append", choices=SIDES, help="this side only")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "images")
    return parser.parse_args()


def one_side(name: str, state: Path, given: argparse.Namespace) -> Side:
    """Make the lab, look at it, remove it, whatever happens."""
    lab = name.split()[-1]
    env = os.environ | {"XDG_STATE_HOME": str(state)}
    options = ("--scenario", given.scenario, "--scale", str(given.scale), "--no-page")
    trimtab = (*TRIMTAB, "lab")
    try:
        began = time.time()
        subprocess.run(
            [*trimtab, "up", "--name", lab, *SIDES[name], *options],
            env=env, check=True, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        return asyncio.run(watched(Home(state / "trimtab"), lab, name, given.minutes, began))
    finally:
        subprocess.run(
            [*trimtab, "down", "--name", lab], env=env, check=False, stdout=subprocess.DEVNULL
        )


async def watched(home: Home, lab: str, name: str, minutes: float, began: float) -> Side:
    async with open_loop(home.lab(lab), limit_s=30.0) as loop:
        scale = loop.spec.clock.scale
        start = await first_moment(loop)
        left_s = start + minutes * 60 / scale - time.time()
        print(f"{name}: {max(0.0, left_s):.0f} s to look at", flush=True)
        await asyncio.sleep(max(0.0, left_s))
        return await measured(loop, name, start, start + minutes * 60 / scale, began)


async def first_moment(loop: Loop) -> float:
    """When the first scrape saw all VMs: from then on the lab has the scenario's load."""
    wanted = len(await loop.vms())
    while True:
        counts: dict[float, float] = {}
        for series in await loop.prometheus.samples("node_vm_count", "10m"):
            for at, value in zip(series.times, series.values, strict=True):
                counts[round(at, 3)] = counts.get(round(at, 3), 0.0) + value
        if found := [at for at, count in sorted(counts.items()) if count >= wanted]:
            return found[0]
        await asyncio.sleep(0.5)


async def measured(loop: Loop, name: str, start: float, end: float, began: float) -> Side:
    scale, window = loop.spec.clock.scale, f"{int(time.time() - began) + 5}s"
    series = await loop.prometheus.samples("node_cpu_usage_ratio", window)
    times = np.array(series[0].times)
    values = np.array([np.interp(times, each.times, each.values) for each in series])
    inside = (times >= start) & (times <= end)
    times, values = times[inside], values[:, inside]
    steps = np.diff(times, append=times[-1]) * scale
    done = [each for each in await loop.migrations() if each.finished]
    moved = [each for each in done if each.status.phase == "Succeeded" and over(each) <= end]
    return Side(
        name=name,
        minutes=[round(float(at - start) * scale / 60, 2) for at in times],
        imbalance=[round(100 * float(x), 2) for x in values.std(axis=0)],
        highest=[round(100 * float(x), 1) for x in values.max(axis=0)],
        moved=sorted(round((over(each) - start) * scale / 60, 2) for each in moved),
        failed=len(done) - len([each for each in done if each.status.phase == "Succeeded"]),
        moved_again=len(moved) - len({each.spec.vm_name for each in moved}),
        overload_s=round(float(((values > OVERLOAD) * steps).sum())),
    )


def over(each: VirtualMachineMigration) -> float:
    ended = each.status.completion_time
    return ended.timestamp() if ended is not None else float("inf")


def draw(sides: list[Side], out: Path, scenario: str) -> None:
    """Level over time above, migrations so far below."""
    with need("matplotlib").rc_context(STYLE):
        figure, (level, moves) = sheet(3.6, rows=2)
        end = max(side.minutes[-1] for side in sides)
        for side in sides:
            colour = COLOURS.get(side.name, INK)
            level.plot(side.minutes, side.imbalance, color=colour, lw=1.4, label=side.name)
            count = list(range(len(side.moved) + 1))
            moves.step(
                [0.0, *side.moved, end], [*count, count[-1]], where="post", color=colour, lw=1.4
            )
            moves.annotate(
                f"{count[-1]}", (end, count[-1]), xytext=(3, -3), textcoords="offset points",
                color=colour, annotation_clip=False,
            )  # fmt: skip
        level.set_ylabel("imbalance, points")
        level.set_ylim(bottom=0)
        level.legend(loc="lower right", bbox_to_anchor=(1, 0.97), ncols=2, frameon=False)
        level.set_title(f"{Path(scenario).stem}, two labs", fontsize=8, loc="left", color=MUTED)
        moves.set_ylabel("migrations so far")
        moves.set_xlabel("minutes of the lab")
        for axes in (level, moves):
            axes.set_xlim(0, end)
            tidy(axes)
        save_all({"side-by-side": figure}, out, ("svg",))


def figures(side: Side) -> dict[str, float]:
    """What a run came to; the names are the table's."""
    return {
        "migrations": float(len(side.moved)),
        "moved again": float(side.moved_again),
        "imbalance, mean": float(np.mean(side.imbalance)),
        "imbalance, last": side.imbalance[-1],
        "overload, node s": side.overload_s,
    }


def simulated(name: str, given: argparse.Namespace) -> list[dict[str, float]]:
    """The same of the simulator's runs over the same time."""
    options = (*SIMULATED[name], "--duration", f"{given.minutes:g}m", "--json")
    rows = []
    for seed in range(SEEDS):
        told = subprocess.run(
            [*TRIMTAB, "sim", given.scenario, *options, "--seed", str(seed)],
            check=True, stdout=subprocess.PIPE,
        ).stdout  # fmt: skip
        card = json.loads(told)["card"]
        rows.append(
            {
                "migrations": card["migrations"],
                "moved again": card["vmsMovedAgain"],
                "imbalance, mean": 100 * card["loadStdMean"],
                "imbalance, last": 100 * card["loadStdFinal"],
            }
        )
    return rows


def show(title: str, rows: list[dict[str, float]]) -> None:
    """One line: the mean of each figure, and its least and most where runs differ."""
    told = []
    for name in rows[0]:
        values = np.array([row[name] for row in rows])
        told.append(f"{name} {values.mean():.1f}")
        if np.ptp(values) > 0:
            told[-1] += f" ({values.min():.1f} to {values.max():.1f})"
    print(f"{title}: {'; '.join(told)}", flush=True)


if __name__ == "__main__":
    main()
