"""The priority levels and FlowSchemas of one tenant in one worker: which flow a request belongs to,
and how many seats each level has (k8s.io/apiserver ``util/flowcontrol/apf_controller.go``).

A level has seats by its share of the tenant's. What it does not use others may borrow: every ten
seconds seats are dealt anew, by what each level wanted lately and within the bounds that it says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from math import ceil

from apiserver.flow.allocation import Claim, Smoothed, allocate
from apiserver.flow.counts import Counts, Tally
from apiserver.flow.lines import Place
from apiserver.flow.matching import Schema
from apiserver.flow.occupancy import Traffic
from apiserver.flow.queueset import QueueSet, Queuing
from apiserver.flow.retryafter import RetryAfter
from apiserver.flow.shuffle import Hand, hand_of
from apiserver.meta.objects import Object
from apiserver.request import RequestInfo
from apiserver.user import User

EXEMPT, CATCH_ALL = "exempt", "catch-all"
PERIOD = 10.0
"""Seconds between two adjustments."""
_MOST_OF_LEVEL = 0.15
"""The part of a level's seats that one request may take."""
_MOST_FLOWS = 2048
"""Whose flow is remembered; a worker's memory of one tenant."""

Clock = Callable[[], float]
Later = Callable[[float, Callable[[], None]], object]


class Level:
    """nominal, least, most: seats by its spec; current: those that it has; quiescing: its object is
    gone, and what was in it is still served; most_of_request: 0 where nothing bounds it."""

    __slots__ = (
        *("current", "demand", "exempt", "least", "most", "most_of_request", "name", "nominal"),
        *("queues", "quiescing", "retry", "spec", "target", "uid"),
    )

    def __init__(self, obj: Object, clock: Clock, later: Later) -> None:
        self.name = obj["metadata"]["name"]
        self.exempt = (obj.get("spec") or {}).get("type") == "Exempt"
        self.queues = QueueSet(None, 0, clock, later, exempt=self.exempt)
        self.demand, self.retry = Smoothed(), RetryAfter()
        self.nominal = self.least = self.most = self.current = self.most_of_request = 0
        self.target = 0.0
        self.quiescing = False
        self.read(obj)

    def read(self, obj: Object) -> None:
        self.uid, self.spec = obj["metadata"].get("uid", ""), obj["spec"]

    @property
    def _settings(self) -> Object:
        return self.spec.get("exempt" if self.exempt else "limited") or {}

    @property
    def shares(self) -> int:
        return int(self._settings.get("nominalConcurrencyShares") or 0)

    @property
    def queuing(self) -> Queuing | None:
        response = self._settings.get("limitResponse") or {}
        said = response.get("queuing") if response.get("type") == "Queue" else None
        if said is None:
            return None
        return Queuing(said["queues"], said["handSize"], said["queueLengthLimit"])

    def share(self, seats: int, shares: float) -> None:
        """Of ``seats``, when all levels together have so many ``shares``."""
        settings, fresh = self._settings, not self.nominal
        self.nominal = ceil(seats * self.shares / shares) if shares else 0
        lendable = _percent(self.nominal, settings.get("lendablePercent") or 0)
        borrowing = settings.get("borrowingLimitPercent")
        self.least = self.nominal - lendable
        self.most = self.nominal + (
            seats if borrowing is None else _percent(self.nominal, borrowing)
        )
        if fresh:
            self.current = self.nominal - lendable // 2
        if (queuing := self.queuing) is not None:
            bound = min(ceil(self.nominal * _MOST_OF_LEVEL), self.nominal // queuing.hand_size)
            self.most_of_request = max(1, bound)
        else:
            self.most_of_request = 0

    @property
    def guaranteed(self) -> int:
        """What it keeps of its own seats for itself."""
        if self.exempt:
            return max(self.least, self.demand.most)
        return max(self.least, min(self.nominal, self.demand.most))

    @property
    def claim(self) -> Claim:
        return Claim(max(self.guaranteed, self.demand.value), self.guaranteed, self.most)


class Flow:
    """Requests that share the seats of their level with other flows. headers: of every answer;
    place: where their work beside the event loop waits; traffic: of the tenant."""

    __slots__ = (
        *("counts", "distinguisher", "hand", "headers"),
        *("level", "place", "schema", "traffic"),
    )

    def __init__(
        self,
        schema: Schema,
        level: Level,
        distinguisher: str,
        hand: Hand,
        counts: Counts,
        place: Place,
        traffic: Traffic,
    ) -> None:
        self.schema, self.level, self.hand, self.counts = schema, level, hand, counts
        self.distinguisher, self.place, self.traffic = distinguisher, place, traffic
        self.headers = (
            (b"x-kubernetes-pf-flowschema-uid", schema.uid.encode()),
            (b"x-kubernetes-pf-prioritylevel-uid", level.uid.encode()),
        )


class Levels:
    """mandatory: the objects that every tenant has, for one whose own are not there."""

    def __init__(self, mandatory: Mapping[str, tuple[Object, Object]], clock: Clock, later: Later):
        self._mandatory, self._clock, self._later = mandatory, clock, later
        self.levels: dict[str, Level] = {}
        self.schemas: list[Schema] = []
        self.tally, self.traffic = Tally(), Traffic(clock)
        self.seats = self._nominal_sum = 0
        self.fair_fraction = 0.0
        self._flows: dict[tuple[object, ...], Flow] = {}

    # --- configuration ----------------------------------------------------------------------------
    def digest(self, levels: Iterable[Object], schemas: Iterable[Object], seats: int) -> None:
        """What the tenant's objects say from now on; ``seats``: those of the tenant."""
        self.seats, self._flows = seats, {}
        configured = {o["metadata"]["name"]: o for o in levels if _sound(o)}
        for name, (obj, _) in self._mandatory.items():
            configured.setdefault(name, obj)
        kept = {
            name: level for name, level in self.levels.items() if self._stays(level, configured)
        }
        for name, obj in configured.items():
            level = kept.get(name)
            if level is None:
                level = kept[name] = Level(obj, self._clock, self._later)
            level.read(obj)
            level.quiescing = False
        self.levels = kept
        self.schemas = self._in_order(schemas)
        shares = sum(level.shares for level in kept.values())
        for level in kept.values():
            level.share(seats, shares)
        self._nominal_sum = sum(level.nominal for level in kept.values())
        places = sum(level.queuing.places for level in kept.values() if level.queuing is not None)
        self.traffic.limit(places or 1, self._nominal_sum or 1)
        self.adjust()

    def _stays(self, level: Level, configured: Mapping[str, Object]) -> bool:
        """A level that nobody configures any more serves what it has."""
        obj = configured.get(level.name)
        if obj is not None:
            return bool((obj["spec"].get("type") == "Exempt") == level.exempt)
        level.quiescing = True
        return not level.queues.idle

    def _in_order(self, objects: Iterable[Object]) -> list[Schema]:
        """Those that name a level which is configured."""
        schemas = {
            schema.name: schema
            for schema in map(Schema.of, objects)
            if (level := self.levels.get(schema.level)) is not None and not level.quiescing
        }
        ordered = sorted(schemas.values(), key=lambda s: s.order)
        if EXEMPT not in schemas:
            ordered.insert(0, Schema.of(self._mandatory[EXEMPT][1]))
        if CATCH_ALL not in schemas:
            ordered.append(Schema.of(self._mandatory[CATCH_ALL][1]))
        return ordered

    # --- requests ---------------------------------------------------------------------------------
    def classify(self, info: RequestInfo, user: User) -> Flow:
        path = "" if info.is_resource else info.path
        key = (user.name, user.groups, info.namespace, info.family, path)
        flow = self._flows.get(key)
        if flow is None:
            if len(self._flows) >= _MOST_FLOWS:
                self._flows.clear()
            flow = self._flows[key] = self._flow(info, user)
        return flow

    def _flow(self, info: RequestInfo, user: User) -> Flow:
        schema = next((s for s in self.schemas if s.matches(info, user)), None)
        if schema is None:  # everybody is in one of two groups, so an object says otherwise
            schema = next(s for s in self.schemas if s.name == CATCH_ALL)
        level = self.levels[schema.level]
        hand: Hand = ()
        distinguisher, queuing, told = "", level.queuing, schema.distinguisher(info, user)
        if queuing is not None:
            if queuing.queues > 1:
                distinguisher = told
            hand = hand_of(schema.name, distinguisher, queuing.queues, queuing.hand_size)
        counts = self.tally.of(level.name, schema.name)
        # what level.queuing says is about seats: threads are shared by flow in every level
        place = Place(level.name, level.shares, level.exempt, hash((schema.name, told)))
        return Flow(schema, level, distinguisher, hand, counts, place, self.traffic)

    # --- borrowing --------------------------------------------------------------------------------
    def adjust(self) -> None:
        """Deals the seats anew."""
        for level in self.levels.values():
            level.demand.add(level.queues.demand())
        limited = [level for level in self.levels.values() if not level.exempt]
        left = self._nominal_sum
        for level in self.levels.values():
            if level.exempt:
                level.current = level.guaranteed
                left -= level.current
        for level, current in zip(limited, self._dealt(limited, left), strict=True):
            level.target = level.claim.target
            level.current = current
        without = max(1, _round(self.seats / 10))
        for level in self.levels.values():
            level.queues.configure(level.queuing, level.current, without)

    def _dealt(self, limited: list[Level], left: int) -> list[int]:
        """What each gets, when exempt levels leave so many."""
        least, guaranteed = sum(x.least for x in limited), sum(x.guaranteed for x in limited)
        self.fair_fraction = 0.0
        if left <= least:
            return [x.least for x in limited]
        if left <= guaranteed:
            part = (left - least) / (guaranteed - least)
            return [x.least + _round((x.guaranteed - x.least) * part) for x in limited]
        dealt, self.fair_fraction = allocate(self._nominal_sum, [x.claim for x in limited])
        return [_round(seats) for seats in dealt]


def _sound(obj: Object) -> bool:
    """Whether its parts fit together, which validation has seen to for all that is stored now."""
    spec, name = obj.get("spec") or {}, obj["metadata"]["name"]
    if spec.get("type") == "Exempt":
        return bool(name == EXEMPT)
    limited = spec.get("limited")
    if spec.get("type") != "Limited" or limited is None or name == EXEMPT:
        return False
    response = limited.get("limitResponse") or {}
    return bool((response.get("type") == "Queue") == (response.get("queuing") is not None))


def _percent(number: int, percent: int) -> int:
    return _round(number * percent / 100)


def _round(number: float) -> int:
    """Halves upwards, as Go does."""
    return int(number + 0.5)
