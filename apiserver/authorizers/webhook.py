"""Webhook: a server of the operator's that answers SubjectAccessReviews (k8s.io/apiserver
``plugin/pkg/authorizer/webhook``). What it said is kept for a while, for each tenant apart."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from typing import NamedTuple

import orjson

from admission.attributes import Lookup
from admission.webhooks.errors import CallFailed
from admission.webhooks.kept import Kept
from admission.webhooks.reviewer import Reviewer, result_of
from apiserver.authorizers import counts
from apiserver.authorizers.conditions import Conditions, ConditionsFailed
from apiserver.authorizers.links import World
from apiserver.authorizers.questions import as_v1beta1, spec_of
from apiserver.authz.attributes import Attributes, Decision
from apiserver.authz.rbac import UserRules
from apiserver.meta.objects import Object
from apiserver.user import User

log = logging.getLogger("polyplane.webhooks")

PAUSE = 0.5
"""Seconds before the second try."""
AT_ONCE = 64
"""Questions of one tenant under way."""
_LARGEST_KEPT = 10_000
"""Characters of a question that the client chooses; the answer to a longer one is not kept."""
_LONGEST_REASON = 10 * 1024
_KIND = "SubjectAccessReview"


class Status(NamedTuple):
    """What the server answered."""

    allowed: bool
    denied: bool
    reason: str


@dataclass(frozen=True, slots=True)
class Settings:
    """version: of the review; authorized, unauthorized: seconds for which an answer is kept;
    denies: whether a question that cannot be put is refused for good."""

    version: str
    authorized: float
    unauthorized: float
    denies: bool


class Webhook:
    """The link of a chain."""

    def __init__(
        self, name: str, settings: Settings, conditions: Conditions, reviewer: Reviewer
    ) -> None:
        self._name, self._settings = name, settings
        self._conditions, self._reviewer = conditions, reviewer
        self._kept = Kept[Status]()

    async def authorize(self, world: World, attributes: Attributes) -> Decision:
        spec = spec_of(world.name, attributes)
        try:
            if not await self._is_meant(spec, world.lookup):
                return Decision(False)
            status = await self._status(world, attributes, spec)
        except ConditionsFailed as error:
            return self._failed(str(error))
        except CallFailed as error:
            log.warning("authorizer %s, tenant %s: %s", self._name, world.tenant, error)
            if not self._settings.denies:
                counts.failed_open(self._name, result_of(error))
            return self._failed(str(error))
        if status.denied:
            both = "webhook subject access review returned both allow and deny response"
            error_text = both if status.allowed else ""
            return Decision(False, status.reason, True, error_text, authorizer=self._name)
        return Decision(
            status.allowed, status.reason, authorizer=self._name if status.allowed else ""
        )

    async def rules_for(self, world: World, user: User, namespace: str) -> UserRules:
        why = "webhook authorizer does not support user rule resolution"
        return UserRules([], [why], incomplete=True)

    def forget(self, tenant: int) -> None:
        self._kept.forget(tenant)

    def close(self) -> None:
        self._reviewer.close()

    async def _is_meant(self, spec: Object, lookup: Lookup) -> bool:
        """Raises ConditionsFailed."""
        if self._conditions.none:
            return True
        began = time.perf_counter()
        try:
            meant = await self._conditions.hold(spec, lookup)
        except ConditionsFailed:
            counts.condition_failed(self._name)
            raise
        finally:
            counts.conditions_took(self._name, time.perf_counter() - began)
        if not meant:
            counts.excluded(self._name)
        return meant

    async def _status(self, world: World, attributes: Attributes, spec: Object) -> Status:
        """Raises CallFailed."""
        key = sha256(orjson.dumps(spec)).digest()
        status = self._kept.get(world.tenant, key)
        if status is None:
            status = await self._ask(world.tenant, spec)
            if _chosen(attributes) < _LARGEST_KEPT:
                settings = self._settings
                seconds = settings.authorized if status.allowed else settings.unauthorized
                self._kept.keep(world.tenant, key, status, seconds)
        return status

    async def _ask(self, tenant: int, spec: Object) -> Status:
        version = self._settings.version
        review = {
            "kind": _KIND,
            "apiVersion": f"authorization.k8s.io/{version}",
            "metadata": {},
            "spec": as_v1beta1(spec) if version == "v1beta1" else spec,
            "status": {"allowed": False},
        }
        tried = partial(counts.asked, self._name)
        answer = await self._reviewer.ask(tenant, orjson.dumps(review), tried)
        return _status(answer, str(review["apiVersion"]))

    def _failed(self, why: str) -> Decision:
        denies = self._settings.denies
        return Decision(False, "", denies, why, authorizer=self._name if denies else "")


def _chosen(attributes: Attributes) -> int:
    """Characters of what the client chooses at will."""
    return sum(
        map(
            len,
            (
                attributes.namespace,
                attributes.verb,
                attributes.group,
                attributes.version,
                attributes.resource,
                attributes.subresource,
                attributes.name,
                attributes.path,
            ),
        )
    )


def _status(body: bytes, version: str) -> Status:
    """``version``: of the question; an answer may leave it and its kind out. Raises CallFailed for
    what is no such SubjectAccessReview."""
    try:
        review = orjson.loads(body)
        of = review.get("kind", _KIND), review.get("apiVersion", version)
        status = {} if (status := review.get("status")) is None else status
        flags = [status.get(name, False) for name in ("allowed", "denied")]
        reason = status.get("reason") or ""
    except (orjson.JSONDecodeError, AttributeError):
        raise CallFailed("the answer is no SubjectAccessReview") from None
    if (
        of != (_KIND, version)
        or not all(isinstance(f, bool) for f in flags)
        or not isinstance(reason, str)
    ):
        raise CallFailed("the answer is no SubjectAccessReview")
    allowed, denied = flags
    return Status(allowed, denied, reason[:_LONGEST_REASON])
