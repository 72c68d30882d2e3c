"""The webhooks of a tenant: MutatingWebhookConfigurations and ValidatingWebhookConfigurations,
read once for each state of a configuration.

Sources: k8s.io/apiserver ``admission/configuration/*_webhook_manager.go`` (order, names) and
``admission/plugin/webhook/accessors.go``.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from admission.attributes import Attributes, Equivalent, Lookup
from admission.policy.candidates import Equivalents
from admission.policy.compiled import digest_of
from admission.rules import GROUP, Criteria, find_rule
from admission.webhooks.review import known_version
from apiserver.effort import spend
from apiserver.errors import Forbidden
from apiserver.meta.gvk import GroupResource
from apiserver.meta.objects import Object

MUTATING = GroupResource(GROUP, "mutatingwebhookconfigurations")
VALIDATING = GroupResource(GROUP, "validatingwebhookconfigurations")
_TIMEOUT = 10
_QUIET = ("None", "NoneOnDryRun")
MOST = 1_000
"""Webhooks of one kind that a tenant may have; with more of them, all its requests are refused that
webhooks may be about."""
_KEPT = 20_000
"""Webhooks that are kept read, over all tenants; others are read again when they are needed."""
_FEW = 64
"""Webhooks whose rules are looked at without asking how long it takes."""
_READ, _MATCH = 200, 50
"""Steps (`apiserver.effort`) for reading a webhook or one of its rules, and for a look at it."""


@dataclass(frozen=True, slots=True, eq=False)
class Hook:
    """One webhook. uid: unique among those of a tenant's configurations of one kind; review: the
    version of AdmissionReview that it is sent, "" if it knows none; timeout: in seconds; quiet:
    whether it may be asked about a dry run; digest: of its match conditions."""

    configuration: str
    name: str
    uid: str
    criteria: Criteria
    conditions: list[Object]
    digest: bytes
    client_config: Object
    review: str
    timeout: int
    fails_open: bool
    quiet: bool
    reinvocable: bool

    @classmethod
    def of(cls, configuration: str, webhook: Object, uid: str) -> Hook:
        """``webhook``: an entry of a configuration. Raises LabelSelectorError."""
        conditions = webhook.get("matchConditions") or []
        fails_open = webhook.get("failurePolicy") == "Ignore"
        return cls(
            configuration=configuration,
            name=webhook["name"],
            uid=uid,
            criteria=Criteria.of_webhook(webhook),
            conditions=conditions,
            digest=digest_of({"matchConditions": conditions}) if conditions else b"",
            client_config=webhook.get("clientConfig") or {},
            review=known_version(webhook.get("admissionReviewVersions") or []),
            timeout=webhook.get("timeoutSeconds") or _TIMEOUT,
            fails_open=fails_open,
            quiet=webhook.get("sideEffects") in _QUIET,
            reinvocable=webhook.get("reinvocationPolicy") == "IfNeeded",
        )


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A webhook whose rules a request fits. index: its place among all of the tenant; matched: what
    it calls the request's objects."""

    index: int
    hook: Hook
    matched: Equivalent

    async def selected(self, attributes: Attributes, lookup: Lookup) -> bool:
        """Whether its selectors want the request, too. Raises NotFound, of the namespace."""
        criteria = self.hook.criteria
        return criteria.selects_object(attributes) and await criteria.selects_namespace(
            attributes, lookup
        )


@dataclass(frozen=True, slots=True, eq=False)
class _State:
    """Of one tenant. source: the configurations, as the cache gives them; read: the webhooks of
    each, by its uid and resourceVersion; hooks: all of them, None where they are too many."""

    source: Sequence[Object] = ()
    read: dict[tuple[str, str], Sequence[Hook]] = field(default_factory=dict)
    hooks: Sequence[Hook] | None = ()


class Hooks:
    """Of one kind of configuration, for all tenants in use."""

    def __init__(self, resource: GroupResource) -> None:
        self._resource = resource
        self._tenants: OrderedDict[int, _State] = OrderedDict()

    def forget(self, tenant: int) -> None:
        """The tenant is not in use any more."""
        self._tenants.pop(tenant, None)

    async def of(self, attributes: Attributes, lookup: Lookup) -> Sequence[Candidate]:
        """In the order in which they are called: by the names of configurations, and as those
        have them. Raises Forbidden where there are too many."""
        configurations = await lookup.list(self._resource)
        if not configurations:
            return ()
        state = await self._state(attributes.tenant, configurations, lookup)
        hooks = state.hooks
        if hooks is None:
            why = f"there are more than {MOST} webhooks in {self._resource}; at most {MOST} may be"
            raise Forbidden(attributes.group_resource, attributes.name, why)
        equivalents = Equivalents(attributes, lookup)

        def look() -> list[Candidate]:
            fits = ((i, hook, _fits(hook, attributes, equivalents)) for i, hook in enumerate(hooks))
            return [Candidate(i, hook, m) for i, hook, m in fits if m is not None]

        return look() if len(hooks) <= _FEW else await lookup.run(look)

    async def _state(self, tenant: int, configurations: Sequence[Object], lookup: Lookup) -> _State:
        state = self._tenants.get(tenant)
        if state is None or state.source is not configurations:
            before = state or _State()
            state = await lookup.run(lambda: _read(before, configurations))
            self._tenants[tenant] = state
            self._shrink()
        self._tenants.move_to_end(tenant)
        return state

    def _shrink(self) -> None:
        """Drops what was not used for longest; the last tenant stays."""
        kept = sum(len(state.hooks or ()) for state in self._tenants.values())
        while kept > _KEPT and len(self._tenants) > 1:
            kept -= len(self._tenants.popitem(last=False)[1].hooks or ())


def _fits(hook: Hook, attributes: Attributes, equivalents: Equivalents) -> Equivalent | None:
    criteria = hook.criteria
    rules = criteria.rules or ()
    spend(_MATCH * (1 + len(rules)))
    return find_rule(rules, attributes, equivalents, equivalent=criteria.equivalent)


def _read(before: _State, configurations: Sequence[Object]) -> _State:
    """Reads anew what has changed."""
    if sum(len(c.get("webhooks") or ()) for c in configurations) > MOST:
        return _State(configurations, hooks=None)
    read = dict[tuple[str, str], Sequence[Hook]]()
    for configuration in configurations:
        metadata = configuration["metadata"]
        key = metadata.get("uid", ""), metadata.get("resourceVersion", "")
        hooks = before.read.get(key)
        read[key] = list(_hooks_of(configuration)) if hooks is None else hooks
    return _State(configurations, read, [hook for hooks in read.values() for hook in hooks])


def _hooks_of(configuration: Object) -> Iterator[Hook]:
    name, seen = configuration["metadata"]["name"], dict[str, int]()
    for webhook in configuration.get("webhooks") or ():
        spend(_READ * (1 + len(webhook.get("rules") or ())))
        number = seen.get(webhook["name"], 0)
        seen[webhook["name"]] = number + 1
        yield Hook.of(name, webhook, f"{name}/{webhook['name']}/{number}")
