"""From a request, a graph and the facts to a plan. Pure: `now` and everything known of the warehouse are arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from partwise.errors import PlanError
from partwise.nodes import BackfillPolicy, Node
from partwise.partitions import PartitionSet
from partwise.planning.facts import Facts, ModelFacts
from partwise.planning.inputs import Input, inputs
from partwise.planning.plan import Blocked, Mode, Plan, Reason, Step
from partwise.planning.wanted import read_keys, spread

MAX_GAPS = 36  # measured in the facts: an OR of 24 ranges is cheap, one of 500 slower than 500 queries
UNITS = {"hour": "hours", "day": "days", "week": "weeks", "month": "months", "quarter": "quarters", "year": "years"}

Reasons = list[tuple[Reason, PartitionSet | None]]


@dataclass(frozen=True, slots=True)
class Request:
    """What a person asks for. `named` are the models of the selection that were named, not reached by `+` or `@`.

    `keys` are the texts of `--partition` and `--partition-range`. Without keys and without `missing`, `failed` and
    `rebuild_all` a run does what is missing, failed or stale by data, and what reads it.
    """

    selected: frozenset[str]
    named: frozenset[str]
    keys: tuple[str, ...] = ()
    missing: bool = False
    failed: bool = False
    rebuild_all: bool = False
    allow_incomplete: bool = False
    full_refresh: bool = False
    run_mode: Literal["auto", "single", "multi"] | None = None
    max_partitions_per_run: int | None = None

    @property
    def is_plain(self) -> bool:
        """Whether it asks for whatever needs to be done."""
        return not (self.keys or self.missing or self.failed or self.rebuild_all or self.full_refresh)


@dataclass(frozen=True, slots=True)
class Analysis:
    """What is known of the models' SQL: whose rows may leave their partition, and the fingerprint of each text."""

    may_leak: frozenset[str] = frozenset()
    fingerprints: Mapping[str, str] = field(default_factory=dict)


def plan(
    nodes: Mapping[str, Node],
    order: Sequence[str],
    request: Request,
    facts: Facts,
    now: datetime,
    analysis: Analysis | None = None,
) -> Plan:
    """The steps that carry out a request, in topological order, and what is blocked or left out.

    `order` lists all models topologically. The runs are disjoint per model and cover what was asked, less what is
    blocked. Raises PlanError when the request makes no sense for these models.
    """
    return _Planner(nodes, order, request, facts, now, analysis or Analysis()).plan()


class _Planner:
    """The state of one planning: what is wanted, what is there, and the steps so far."""

    def __init__(
        self,
        nodes: Mapping[str, Node],
        order: Sequence[str],
        request: Request,
        facts: Facts,
        now: datetime,
        analysis: Analysis,
    ) -> None:
        self.nodes = nodes
        self.request = request
        self.facts = facts
        self.now = now
        self.analysis = analysis
        kinds = ("partitioned", "table", "view")
        self.order = [m for m in order if m in request.selected and nodes[m].materialized in kinds]
        self.inputs = {m: inputs(nodes[m], nodes) for m in self.order}
        self.steps: dict[str, Step] = {}
        self.blocked: list[Blocked] = []
        self.left_out: list[tuple[str, str]] = []
        self.notes: list[str] = []

    def plan(self) -> Plan:
        self._refuse_nonsense()
        by_key = self._by_key() if self.request.keys else None
        for model in self.order:
            if message := self.facts.of(model).message:
                self.notes.append(f"{self.nodes[model].name}: {message}")
            if self.nodes[model].is_partitioned:
                self._plan_partitioned(model, by_key)
            else:
                self._plan_whole(model, by_key)
        return Plan(
            steps=tuple(self.steps.values()),
            blocked=tuple(self.blocked),
            blocked_by_name=bool(self.blocked) and bool(self.request.keys),
            left_out=tuple(self.left_out),
            notes=tuple(self.notes),
        )

    def _refuse_nonsense(self) -> None:
        request = self.request
        if request.full_refresh and (request.keys or request.missing or request.failed):
            raise PlanError(
                "--full-refresh rebuilds whole tables, so it takes no partitions",
                hint="leave out --full-refresh: a range alone already replaces the partitions it names",
            )
        if request.max_partitions_per_run is not None and request.max_partitions_per_run < 1:
            raise PlanError(f"a run needs at least one partition, not {request.max_partitions_per_run}")
        if request.full_refresh:
            return
        for model in self.order:
            node, fact = self.nodes[model], self.facts.of(model)
            if node.is_partitioned and fact.exists and fact.other_definitions and not fact.materialized:
                count = sum(fact.other_definitions.values())
                change = f": {fact.message}" if fact.message else ""
                raise PlanError(
                    f"the partition definition of `{node.name}` changed{change}; {count} partitions were built under "
                    "the one before",
                    file=node.path,
                    hint=f"rebuild it: `partwise run --select {node.name} --full-refresh`, or put the definition back",
                )

    # ------------------------------------------------------------ what is wanted

    def _by_key(self) -> dict[str, PartitionSet | None]:
        """What the key texts name, mapped through the selection."""
        named = [self.nodes[m] for m in self.order if m in self.request.named]
        read = read_keys(self.request.keys, named, self.now)
        self.left_out += read.left_out
        start: dict[str, PartitionSet | None] = {**read.partitions, **dict.fromkeys(read.whole, None)}
        reached = frozenset(self.order) - self.request.named
        return spread(start, self.order, self.inputs, self.nodes, reached, self.now)

    def _there(self, model: str) -> PartitionSet:
        """What counts as materialized: not what was built while its window was open and has closed since."""
        definition, fact = self.nodes[model].definition, self.facts.of(model)
        assert definition is not None
        if (self.request.full_refresh and model in self.order) or fact.materialized is None or not fact.exists:
            return definition.empty()
        if not fact.open_built:
            return fact.materialized
        return fact.materialized - (fact.open_built & definition.existing(self.now))

    def _reasons(self, model: str, by_key: Mapping[str, PartitionSet | None] | None) -> Reasons:
        """The wanted partitions of a partitioned model, by reason; the first reason of a partition counts."""
        definition, fact, request = self.nodes[model].definition, self.facts.of(model), self.request
        assert definition is not None
        existing, there = definition.existing(self.now), self._there(model)
        failed = fact.failed if fact.failed is not None else definition.empty()
        chosen: Reasons = []
        plain = request.is_plain
        if request.missing or plain:
            chosen.append(("missing", existing - there))
        if request.failed or plain:
            chosen.append(("failed", failed & existing))
        if plain:
            chosen.append(("stale", (fact.incomplete or definition.empty()) & existing))
            chosen.append(("upstream", self._reading_this_plan(model)))
        if request.rebuild_all or request.full_refresh:
            chosen.append(("missing", existing - there))
            chosen.append(("requested", existing))
        if by_key is None:
            return chosen
        within = by_key.get(model)
        if within is None:
            return []
        if request.missing or request.failed:
            limited = [(reason, of & within) for reason, of in chosen if of is not None]
            if request.missing:  # an open window named by hand is missing as long as nothing was written
                limited.append(("missing", within - existing - there))
            return [*limited]
        return [("missing", within - there), ("requested", within)]

    def _reading_this_plan(self, model: str) -> PartitionSet:
        definition = self.nodes[model].definition
        assert definition is not None
        found = definition.empty()
        for read in self.inputs[model]:
            step = self.steps.get(read.upstream)
            if step is not None:
                hit = definition.existing(self.now)
                if step.partitions is not None:
                    hit = read.touched(step.partitions, definition, self.now)
                found = found | hit
        return found

    # ------------------------------------------------------------ steps

    def _plan_partitioned(self, model: str, by_key: Mapping[str, PartitionSet | None] | None) -> None:
        node = self.nodes[model]
        definition = node.definition
        assert definition is not None
        reasons = [(reason, of) for reason, of in self._reasons(model, by_key) if of]
        wanted = definition.union_of([of for _, of in reasons if of is not None])
        if not wanted:
            return
        ready, incomplete = self._ready(model, wanted)
        if not ready:
            return
        mode, most, why = self._mode(node, ready)
        still_open = ready - definition.existing(self.now)
        if still_open:
            count = f"{len(still_open)} partitions" if len(still_open) > 1 else f"partition {still_open.first_key()}"
            verb = "have" if len(still_open) > 1 else "has"
            self.notes.append(f"{node.name}: {count} {verb} not ended yet and will count as missing once closed")
        self.steps[model] = Step(
            model=model,
            partitions=ready,
            pieces=(ready,) if mode == "multi_run" and most == 1 else tuple(_cut_gaps(ready)),
            max_partitions_per_run=most,
            mode=mode,
            why_mode=why,
            reasons=tuple(reasons),
            inputs=self.inputs[model],
            in_order=node.reads_own_past,
            full_refresh=self.request.full_refresh,
            open=still_open or None,
            incomplete=incomplete or None,
        )

    def _plan_whole(self, model: str, by_key: Mapping[str, PartitionSet | None] | None) -> None:
        node, fact = self.nodes[model], self.facts.of(model)
        reason: Reason | None = None
        if by_key is not None:
            reason = "requested" if model in by_key else None
        elif not (fact.exists and fact.built):
            reason = None if self.request.failed and not self.request.missing and not fact.last_failed else "missing"
        elif self.request.rebuild_all or self.request.full_refresh:
            reason = "requested"
        elif fact.last_failed and (self.request.failed or self.request.is_plain):
            reason = "failed"
        elif self.request.is_plain:
            reason = self._whole_stale(node, fact)
        if reason is None or self._whole_blocked(model):
            return
        self.steps[model] = Step(
            model=model,
            partitions=None,
            pieces=(),
            max_partitions_per_run=None,
            mode="whole",
            why_mode="",
            reasons=((reason, None),),
            inputs=self.inputs[model],
            full_refresh=self.request.full_refresh,
        )

    def _whole_stale(self, node: Node, fact: ModelFacts) -> Reason | None:
        """Why a table or view that is there must be built again: its text changed, or what it reads did."""
        text = self.analysis.fingerprints.get(node.unique_id)
        if text is not None and text != fact.fingerprint:
            return "stale"
        if node.materialized == "view":
            return None
        reads = [self.nodes[read.upstream] for read in self.inputs[node.unique_id]]
        if any(up.resource_type == "source" for up in reads):
            return "stale"
        return "upstream" if any(up.unique_id in self.steps for up in reads) else None

    def _mode(self, node: Node, wanted: PartitionSet) -> tuple[Mode, int | None, str]:
        """How the set is cut into runs: mode, most partitions in one run (None: no limit), and why."""
        policy, by_hand = node.policy, self.request.run_mode
        most = self.request.max_partitions_per_run or policy.max_partitions_per_run
        if node.reads_own_past:
            return "multi_run", 1, "it reads its own past, so partitions are built one by one, in order"
        if by_hand in ("single", "multi"):
            policy = BackfillPolicy("single_run" if by_hand == "single" else "multi_run")
            most = self.request.max_partitions_per_run
        if policy.kind == "single_run":
            leaks = node.unique_id in self.analysis.may_leak and not node.trust and by_hand != "single"
            if leaks and len(wanted) > 1:
                why = "rows might leave their partition unseen in a run over several; `trust=true` says they do not"
                return "multi_run", 1, why
            return "single_run", most, "asked for by --run-mode" if by_hand else "declared"
        why = "asked for by --run-mode" if by_hand else "declared" if policy.kind == "multi_run" else "auto: not proven"
        return "multi_run", most or 1, why

    # ------------------------------------------------------------ ready or blocked

    def _ready(self, model: str, wanted: PartitionSet) -> tuple[PartitionSet, PartitionSet]:
        """The part of a set that can run, and of that the part that is built without all of its upstream."""
        node = self.nodes[model]
        definition = node.definition
        assert definition is not None
        ready, incomplete = wanted, definition.empty()
        for read in self.inputs[model]:
            held, waits = self._held(read, ready, node)
            if not held:
                continue
            if self.request.allow_incomplete:
                incomplete = incomplete | held
                continue
            self.blocked.append(
                Blocked(model, held, read.upstream, waits, self._waits_text(node, read, held.first_key(), held))
            )
            ready = ready - held
        return ready, incomplete & ready

    def _held(self, read: Input, wanted: PartitionSet, node: Node) -> tuple[PartitionSet, PartitionSet | None]:
        """The part of a set that one upstream holds back, and what of the upstream it waits for."""
        up, definition = self.nodes[read.upstream], node.definition
        assert definition is not None
        if not wanted or up.resource_type == "source":
            return definition.empty(), None
        if up.definition is None or not up.is_partitioned:
            there = self.facts.of(up.unique_id).built or up.unique_id in self.steps
            return (definition.empty() if there else wanted), None
        absent = up.definition.existing(self.now) - self._available(up.unique_id)
        if not absent:
            return definition.empty(), None
        existing = definition.existing(self.now)
        held = read.touched(absent, definition, self.now) & wanted
        for one in (wanted - existing).split(1) if wanted - existing else ():
            need = read.needed(one, self.now)
            if need is not None and need.existing & absent:
                held = held | one
        need = read.needed(held, self.now) if held else None
        return held, None if need is None else need.existing & absent

    def _available(self, upstream: str) -> PartitionSet:
        """What of an upstream is there, or will be by this plan."""
        there, step = self._there(upstream), self.steps.get(upstream)
        return there if step is None or step.partitions is None else there | step.partitions

    def _whole_blocked(self, model: str) -> bool:
        """Whether a table or view waits for something, which is then noted."""
        node = self.nodes[model]
        for read in self.inputs[model]:
            up = self.nodes[read.upstream]
            if up.resource_type == "source":
                continue
            waits: PartitionSet | None = None
            if up.definition is not None and up.is_partitioned:
                available = self._available(up.unique_id)
                waits = up.definition.existing(self.now) - available
                if not waits or (node.materialized == "view" and available):
                    continue
            elif self.facts.of(up.unique_id).built or up.unique_id in self.steps:
                continue
            if self.request.allow_incomplete and waits is not None and waits != up.definition.existing(self.now):  # type: ignore[union-attr]
                continue
            self.blocked.append(Blocked(model, None, up.unique_id, waits, self._waits_text(node, read, "", None)))
            return True
        return False

    def _waits_text(self, node: Node, read: Input, key: str, held: PartitionSet | None) -> str:
        """`daily_delays 2013-11-03 waits for 18 of 24 hours of departures`."""
        up = self.nodes[read.upstream]
        who = f"{node.name} {key}".rstrip()
        if up.definition is None or not up.is_partitioned:
            if up.resource_type == "seed":
                return f"{who} waits for {up.name}, which is not loaded; run `partwise seed --select {up.name}`"
            return f"{who} waits for {up.name}, which is {'blocked' if self._is_blocked(up) else 'not built; add +'}"
        assert node.definition is not None or held is None
        one = node.definition.parse_key(key) if held is not None and node.definition is not None and key else None
        need = read.needed(one, self.now)
        assert need is not None
        absent = need.existing - self._available(up.unique_id)
        axis = up.definition.axes[0]
        unit = UNITS.get(axis.name, "partitions") if len(up.definition.axes) == 1 else "partitions"
        text = f"{who} waits for {len(absent)} of {len(need.existing)} {unit} of {up.name}"
        return f"{text}, which is blocked" if self._is_blocked(up) else f"{text}; add + or --allow-incomplete"

    def _is_blocked(self, node: Node) -> bool:
        return any(item.model == node.unique_id for item in self.blocked)


def _cut_gaps(partitions: PartitionSet) -> list[PartitionSet]:
    """Pieces with at most MAX_GAPS separate stretches of time each, earliest first."""
    axis = partitions.definition.time_axis
    if axis is None:
        return [partitions]
    spans = partitions.spans(axis.name)
    if len(spans) <= MAX_GAPS:
        return [partitions]
    return [partitions.restrict(axis.name, spans[i : i + MAX_GAPS]) for i in range(0, len(spans), MAX_GAPS)]
