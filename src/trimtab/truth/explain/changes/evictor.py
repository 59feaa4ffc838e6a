"""Changes of DefaultEvictor: one protection or condition less."""

from collections.abc import Callable, Iterator

from trimtab.policy.file.settings import DEFAULT_PROTECTIONS, SYSTEM_CRITICAL, Evictor, Protection
from trimtab.truth.explain.changes.change import Tree, UntriedChange, args_of, in_policy
from trimtab.truth.explain.changes.trial import Trial

EVICTOR = "DefaultEvictor"
_LEGACY = {
    Protection.LOCAL_STORAGE: ("evictLocalStoragePods", True),
    Protection.DAEMON_SET: ("evictDaemonSetPods", True),
    Protection.SYSTEM_CRITICAL: ("evictSystemCriticalPods", True),
    Protection.PVC: ("ignorePvcPods", False),
    Protection.WITHOUT_PDB: ("ignorePodsWithoutPDB", False),
}


def evictor_attempts(trial: Trial) -> Iterator[UntriedChange]:
    """Each setting that can keep a pod, taken away alone."""
    for at, profile in enumerate(trial.policy.profiles):
        if profile.plugins:
            for what, edit in _edits(profile.evictor):
                yield in_policy(trial.snapshot, what, _of_profile(at, edit))


def _edits(evictor: Evictor) -> Iterator[tuple[str, Callable[[Tree], None]]]:
    if evictor.node_fit:
        yield "switch nodeFit off", _set("nodeFit", False)
    for protection in Protection:
        # Without it bare pods would still never pass.
        if protection in evictor.protections and protection is not Protection.FAILED_BARE:
            yield f"switch the protection {protection.value} off", _unprotect(protection)
    if evictor.no_eviction == "Mandatory":
        yield "make noEvictionPolicy Preferred", _set("noEvictionPolicy", "Preferred")
    if evictor.label_selector.requirements:
        yield f"drop the labelSelector {evictor.label_selector.text}", _pop("labelSelector")
    if evictor.min_replicas > 1:
        yield f"drop minReplicas {evictor.min_replicas}", _pop("minReplicas")
    if evictor.min_pod_age_s is not None:
        yield f"drop minPodAge ({evictor.min_pod_age_s:g} s)", _pop("minPodAge")
    if evictor.namespace_selector.requirements:
        text = evictor.namespace_selector.text
        yield f"drop the namespaceLabelSelector {text}", _pop("namespaceLabelSelector")
    if evictor.priority_threshold < SYSTEM_CRITICAL:
        yield "drop the priorityThreshold", _pop("priorityThreshold")
    if evictor.node_fit and (evictor.node_selector is None or evictor.node_selector.requirements):
        yield "let nodeFit look at all nodes: drop its nodeSelector", _pop("nodeSelector")


def _of_profile(at: int, edit: Callable[[Tree], None]) -> Callable[[Tree], None]:
    return lambda tree: edit(args_of(tree, at, EVICTOR))


def _set(name: str, value: object) -> Callable[[Tree], None]:
    def edit(args: Tree) -> None:
        args[name] = value

    return edit


def _pop(name: str) -> Callable[[Tree], None]:
    def edit(args: Tree) -> None:
        args.pop(name, None)

    return edit


def _unprotect(protection: Protection) -> Callable[[Tree], None]:
    """In the words that the file uses: the new lists, or the old booleans."""

    def edit(args: Tree) -> None:
        lists = args.get("podProtections") or {}
        if not (lists.get("extraEnabled") or lists.get("defaultDisabled")) and any(
            args.get(name) for name, _ in _LEGACY.values()
        ):
            name, value = _LEGACY[protection]
            args[name] = value
            return
        args["podProtections"] = lists
        if protection in DEFAULT_PROTECTIONS:
            lists["defaultDisabled"] = [*(lists.get("defaultDisabled") or ()), protection.value]
        else:
            extra = lists.get("extraEnabled") or ()
            lists["extraEnabled"] = [name for name in extra if name != protection.value]

    return edit
