"""What `trimtab engines build` shows while go compiles: a bar over all programs, and words."""

from trimtab.engines import Progress, events
from trimtab.view.terminal import ProgressSteps


class BuildDisplay:
    """Events of a build as words beside a bar; without a terminal a line every tenth of the way."""

    def __init__(self, steps: ProgressSteps, *, detailed: bool) -> None:
        self._steps, self._detailed = steps, detailed
        self._shown = 0.0  # of all programs, where the bar stands
        self._before = 0  # programs before the one that is being compiled
        self._place = ""

    def __call__(self, event: Progress) -> None:
        match event:
            case events.WaitingForOthers(holder=holder):
                self._steps.note(f"waiting for {holder}")
            case events.Installing(requirement=requirement):
                self._steps.note(f"no Go >= 1.26 on PATH; installing {requirement} into the cache")
            case events.Started(program=program, number=number, total=total):
                self._before, self._place = number - 1, f"{program} ({number} of {total})"
                self._move_to(self._before)
                self._steps.note(self._place)
            case events.Downloading(module=module):
                what = f"downloading {module}" if self._detailed else "downloading modules"
                self._steps.note(f"{self._place}: {what}")
            case events.Compiling(done=done, total=total):
                self._compiled(done, total)
            case events.Finished(number=number, seconds=seconds):
                self._move_to(number)
                self._steps.note(f"{self._place}: done in {seconds:.0f} s")

    def _compiled(self, done: int, packages: int) -> None:
        share = done / packages if packages else 0.0
        self._move_to(self._before + 0.95 * share)  # the rest is the linker's
        if done >= packages - 1:  # the last one is the program itself
            self._steps.note(f"{self._place}: linking")
        elif self._detailed:
            self._steps.note(f"{self._place}: {done} of {packages} packages compiled")
        else:
            tenths = int(share * 10) * 10
            self._steps.note(f"{self._place}: {tenths} % of {packages} packages compiled")

    def _move_to(self, position: float) -> None:
        self._steps.advance(position - self._shown)
        self._shown = position
