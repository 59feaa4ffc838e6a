"""Looking at the cluster for one decision: drafts, previews, live objects, health."""

from collections.abc import Iterable, Mapping

from msgspec import structs

from trimtab.advisor.api import Ignore, Item, Options, Spec, TargetRef
from trimtab.advisor.cluster.objects import ClusterObjects
from trimtab.advisor.decide.accepted_drift import accepting
from trimtab.advisor.decide.situation import ConfigSituation, SeenForDecision, Trouble, Want
from trimtab.advisor.kinds import MACHINE_CONFIG_POOLS, MACHINE_CONFIGS, namespace_of
from trimtab.advisor.plan import pools
from trimtab.advisor.plan.ignored_fields import ignoring, overlooked, to_write
from trimtab.advisor.plan.plan import (
    PlatformPlan,
    Preview,
    desired_item,
    make_plan,
    plan_of,
    target_of,
)
from trimtab.advisor.plan.pools import PoolHealth
from trimtab.advisor.plan.profile import (
    ClusterFacts,
    Draft,
    OptionError,
    PlatformProfile,
    Resource,
    missing,
    missing_text,
)
from trimtab.advisor.plan.rollback import RollbackRecord, leaving
from trimtab.errors import ConfigError
from trimtab.kube.errors import ApiError, Forbidden, Invalid, NotFound
from trimtab.kube.resources import Free

Live = dict[TargetRef, Free | None]
RIGHTS = (
    "the operator's rights come with k8s/advisor; those to ConfigMaps and Deployments with "
    "kubectl apply -k k8s/advisor/upstream, or k8s/advisor/example for example-profile"
)


class ClusterReader:
    """One look: objects are read once, however many questions there are."""

    def __init__(
        self, access: ClusterObjects, profile: PlatformProfile | None, record: RollbackRecord
    ) -> None:
        self._access = access
        self._profile = profile
        self._record = record

    async def see(self, s: ConfigSituation, wants: Iterable[Want]) -> SeenForDecision:
        """What was seen before, and what else is wanted."""
        seen = structs.replace(s.seen, record=self._record)
        for want in wants:
            match want:
                case "draft":
                    seen = structs.replace(seen, draft=await self._draft(s.config.spec.options))
                case "plan":
                    seen = await self._plan(s, seen)
                case "recorded":
                    seen = structs.replace(seen, live=await self._recorded(()))
                case "live":
                    seen = await self._look(s, seen)
                case "previews":
                    seen = structs.replace(seen, previews=await self._previews(s))
        return seen

    async def _look(self, s: ConfigSituation, seen: SeenForDecision) -> SeenForDecision:
        items, rules = s.status.items, s.config.spec.ignore
        live = {
            item.target_ref: overlooked(item, await self._access.get(item.target_ref), rules)
            for item in items
        }
        return structs.replace(seen, live=live, health=await self._health(items, live))

    async def _facts(
        self, profile: PlatformProfile, options: Options | None, crds: ClusterFacts
    ) -> ClusterFacts:
        lists = {kind: await self._access.all(kind) for kind in profile.lists(options)}
        known: Live = {}
        facts = ClusterFacts(known, crds.crds, lists)
        while new := [ref for ref in profile.reads(options, facts) if ref not in known]:
            known |= {ref: await self._get(ref) for ref in new}
            facts = ClusterFacts(known, crds.crds, lists)
        return facts

    async def _get(self, ref: TargetRef) -> Free | None:
        """A namespace that does not exist holds no object, and no one has rights in it."""
        try:
            return await self._access.get(ref)
        except Forbidden:
            if ref.namespace and await self._access.get(namespace_of(ref)) is None:
                return None
            raise

    async def _draft(self, options: Options | None) -> Draft | Trouble:
        profile = self._profile
        if profile is None:
            return Trouble("prerequisite", "This version of the operator has no such profile")
        needs = profile.needs(options)
        kinds = (*(need.resource for need in needs), *profile.manages(), *profile.looks_at())
        crds = {name: await self._access.crd(name) for name in crd_names(kinds)}
        lacking = missing(needs, crds)
        if lacking:
            return Trouble("prerequisite", missing_text(lacking))
        try:
            return profile.draft(
                options, await self._facts(profile, options, ClusterFacts({}, crds))
            )
        except OptionError as error:
            return Trouble("prerequisite", str(error))
        except Forbidden as error:
            return Trouble("prerequisite", f"{error}; {RIGHTS}")
        except ConfigError as error:
            return Trouble("generation", str(error))

    async def _plan(self, s: ConfigSituation, seen: SeenForDecision) -> SeenForDecision:
        if s.status.reverse:
            return await self._reverse_plan(s, seen)
        draft = await self._draft(s.config.spec.options)
        if isinstance(draft, Trouble):
            return structs.replace(seen, draft=draft, plan=draft)
        try:
            draft = await self._with_exceptions(draft, s.config.spec)
            previews = {
                wanted.name: await self._preview(desired_item(wanted), s.config.spec.ignore)
                for wanted in draft.desired_objects
            }
        except OptionError as error:
            return structs.replace(seen, plan=Trouble("prerequisite", str(error)))
        except (Invalid, Forbidden, NotFound) as error:
            return structs.replace(seen, draft=draft, plan=refusal(error))
        desired_targets = [target_of(wanted.desired) for wanted in draft.desired_objects]
        old = await self._recorded(desired_targets)
        going = leaving(self._record, desired_targets, old)
        plan = make_plan(draft, previews, s.config.spec.options, going, old)
        live = old | {target_of(w.desired): previews[w.name].live for w in draft.desired_objects}
        return await self._planned(structs.replace(seen, draft=draft), plan, live)

    async def _with_exceptions(self, draft: Draft, spec: Spec) -> Draft:
        if not spec.ignore and not spec.accepted:
            return draft
        refs = {wanted.name: target_of(wanted.desired) for wanted in draft.desired_objects}
        live = {name: await self._access.get(ref) for name, ref in refs.items()}
        return ignoring(accepting(draft, spec.accepted, live), spec.ignore, live)

    async def _preview(self, item: Item, rules: tuple[Ignore, ...]) -> Preview:
        """What applying the item would do, without what is ignored."""
        found = await self._access.preview(
            item.target_ref, lambda live: to_write(item, live, rules)
        )
        live, after = (overlooked(item, obj, rules) for obj in (found.live, found.after))
        return structs.replace(found, live=live, after=after)

    async def _reverse_plan(self, s: ConfigSituation, seen: SeenForDecision) -> SeenForDecision:
        old = await self._recorded(())
        items = leaving(self._record, (), old)
        return await self._planned(seen, plan_of(items, old, {}, s.config.spec.options), old)

    async def _planned(
        self, seen: SeenForDecision, plan: PlatformPlan, live: Mapping[TargetRef, Free | None]
    ) -> SeenForDecision:
        health = await self._health(plan.items, live)
        return structs.replace(seen, plan=plan, live=live, health=health)

    async def _recorded(self, desired_targets: Iterable[TargetRef]) -> Live:
        kept = set(desired_targets)
        refs = [prior.ref for prior in self._record.priors if prior.ref not in kept]
        return {ref: await self._access.get(ref) for ref in refs}

    async def _previews(self, s: ConfigSituation) -> dict[str, Preview]:
        return {
            item.name: await self._repreview(item, s.config.spec.ignore)
            for item in s.status.items
            if item.verb == "apply" and item.desired_state is not None
        }

    async def _repreview(self, item: Item, rules: tuple[Ignore, ...]) -> Preview:
        try:
            return await self._preview(item, rules)
        except (Invalid, Forbidden, NotFound) as error:
            live = await self._access.get(item.target_ref)
            return Preview(live, live, refused=str(error))

    async def _health(
        self, items: tuple[Item, ...], live: Mapping[TargetRef, Free | None]
    ) -> dict[str, PoolHealth]:
        waiting = [item for item in items if item.target_ref.kind == MACHINE_CONFIGS.kind]
        if not waiting:
            return {}
        lists = {MACHINE_CONFIG_POOLS: await self._access.all(MACHINE_CONFIG_POOLS)}
        bare = ClusterFacts({}, {}, lists)
        objects = {ref: await self._access.get(ref) for ref in pools.reads(bare)}
        facts = ClusterFacts(objects, {}, lists)
        return {item.name: _verdict(item, live.get(item.target_ref), facts) for item in waiting}


def _verdict(item: Item, live: Free | None, facts: ClusterFacts) -> PoolHealth:
    if item.verb == "delete":
        return pools.gone(item.target_ref.name, facts)
    wanted = live if item.verb == "restore" else item.desired_state
    return pools.health(wanted or {}, facts)


def refusal(error: ApiError) -> Trouble:
    """A namespace that is missing can be created; anything else is a plan that does not work."""
    if isinstance(error, NotFound):
        return Trouble("prerequisite", f"Missing in this cluster: {error.message}")
    return Trouble("generation", str(error))


def crd_names(kinds: Iterable[Resource]) -> tuple[str, ...]:
    """Of the kinds that have a definition: Kubernetes' own have none."""
    return tuple(dict.fromkeys(kind.crd for kind in kinds if "." in kind.group))
