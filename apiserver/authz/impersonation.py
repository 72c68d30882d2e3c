"""May a request act as somebody else, and who is it then?

There are five modes of impersonation (KEP 5284, k8s.io/apiserver
``endpoints/filters/impersonation``). The four constrained ones ask for two rights: the verb
``impersonate-on:<mode>:<verb>`` on what the request itself is about, and ``impersonate:<mode>`` on
every part of the user that it wants to be. The legacy one asks for the verb ``impersonate`` on
those parts only. The first mode that allows the request decides who it acts as.

Pure: the caller hands over its authorizer. Successes are not remembered for ten seconds, as
upstream does, so a right that is taken away is gone at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from apiserver.authz.attributes import Attributes, Authorize, forbidden
from apiserver.errors import ApiError, Forbidden, aggregate
from apiserver.fielderrors import FieldPath, domain_prefixed_path
from apiserver.golang.strconv import go_quote
from apiserver.meta import features, names
from apiserver.user import (
    ANONYMOUS,
    AUTHENTICATED,
    MASTERS,
    NODE_NAME,
    NODES,
    UNAUTHENTICATED,
    User,
    service_account_groups,
    split_service_account,
)

_AUTHENTICATION = "authentication.k8s.io"
_NODE = "system:node:"
"""How the user names of nodes begin."""
_NODE_KEYS = "authentication.kubernetes.io/associated-node-keys"
_MANY = 4
"""From so many groups or extras on, the right to all of them is asked for first."""


class Mode(NamedTuple):
    """fits: whether it can make the target user of the requestor, given as (target, requestor)."""

    name: str
    fits: Callable[[User, User], bool]

    @property
    def constrained(self) -> bool:
        return self.name != ""

    @property
    def verb(self) -> str:
        return f"impersonate:{self.name}" if self.name else "impersonate"


def _node(user: str) -> str:
    """The node that a user name stands for; "" for any other user."""
    name = user.removeprefix(_NODE)
    return "" if name == user or names.dns1123_subdomain(name) else name


def _account(user: str) -> tuple[str, str] | None:
    """(namespace, name) of a service account's user name; None for any other, such as one whose
    parts no namespace and no account can be called (``serviceaccount.SplitUsername``)."""
    parts = split_service_account(user)
    if parts is None or names.dns1123_label(parts[0]) or names.dns1123_subdomain(parts[1]):
        return None
    return parts


def _is_associated_node(target: User, requestor: User) -> bool:
    return (
        _is_bare_node(target, requestor)
        and _account(requestor.name) is not None
        and requestor.extra.get(NODE_NAME) == (_node(target.name),)
    )


def _is_bare_node(target: User, requestor: User) -> bool:
    return _is_bare(target) and _node(target.name) != ""


def _is_bare_account(target: User, requestor: User) -> bool:
    return _is_bare(target) and _account(target.name) is not None


def _is_bare(target: User) -> bool:
    return not (target.uid or target.groups or target.extra)


def _is_other(target: User, requestor: User) -> bool:
    return not _node(target.name) and _account(target.name) is None


MODES = (
    Mode(ASSOCIATED := "associated-node", _is_associated_node),
    Mode("arbitrary-node", _is_bare_node),
    Mode("serviceaccount", _is_bare_account),
    Mode("user-info", _is_other),
    Mode("", lambda target, requestor: True),
)
"""In the order in which they are tried; the legacy one is last."""


async def act_as(
    target: User, request: Attributes, authorize: Authorize, last: int | None = None
) -> tuple[User, int]:
    """Whom the request acts as from here on, and the index of the mode that allowed it: the legacy
    one where the feature gate ConstrainedImpersonation is off.

    ``request``: what it asks for, by who really sends it; ``last``: the mode that last allowed
    something to that user, which is tried first and whose refusal is the one that is told. Raises
    Forbidden."""
    refusal: ApiError | None = None
    for index in _order(last):
        mode = MODES[index]
        if not mode.fits(target, request.user):
            continue
        asked = _of_any_node(request) if mode.name == ASSOCIATED else request
        try:
            return await _Attempt(mode, target, asked, authorize).user(), index
        except Forbidden as e:
            refusal = refusal or e
    assert refusal is not None, "the legacy mode fits everybody"
    raise refusal


def _of_any_node(request: Attributes) -> Attributes:
    """The question is whether the account may act as whatever node it is on: authorizers are told
    which extras it has, and not what they say."""
    keys = {_NODE_KEYS: tuple(sorted(request.user.extra))}
    return request._replace(user=replace(request.user, extra=keys))


def _order(last: int | None) -> Sequence[int]:
    if not features.enabled("ConstrainedImpersonation"):
        return [len(MODES) - 1]
    return sorted(range(len(MODES)), key=lambda index: index != last)


class _Attempt(NamedTuple):
    mode: Mode
    target: User
    request: Attributes
    authorize: Authorize

    async def user(self) -> User:
        """Raises Forbidden."""
        target, mode = self.target, self.mode
        if mode.constrained:
            verb = f"impersonate-on:{mode.name}:{self.request.verb}"
            await self._ask(self.request._replace(verb=verb))
        groups = await self._name()
        if target.uid:
            await self._ask(self._part("uids", target.uid, _AUTHENTICATION))
        await self._groups()
        await self._extra()
        if target.name == ANONYMOUS:
            groups = _with(groups, UNAUTHENTICATED)
        elif UNAUTHENTICATED not in groups:
            groups = _with(groups, AUTHENTICATED)
        return User(target.name, target.uid, groups, target.extra)

    async def _name(self) -> tuple[str, ...]:
        """Asks for the right to the name. Returns the user's groups: those that the request wants,
        or else those that come with the name."""
        target, account = self.target, _account(self.target.name)
        node = _node(target.name) if self.mode.constrained else ""
        if account is not None:
            part = self._part("serviceaccounts", account[1])
            await self._ask(part._replace(namespace=account[0]))
            return target.groups or service_account_groups(account[0])
        if not node:
            await self._ask(self._part("users", target.name))
            return target.groups
        await self._ask(self._part("nodes", "*" if self.mode.name == ASSOCIATED else node))
        return (NODES,)

    async def _groups(self) -> None:
        groups = self.target.groups
        if self.mode.constrained:
            if "" in groups:
                raise forbidden(
                    self._part("groups", ""),
                    "impersonating the empty string group is not allowed",
                )
            if MASTERS in groups:
                raise forbidden(
                    self._part("groups", MASTERS),
                    "impersonating the system:masters group is not allowed",
                )
            if len(groups) >= _MANY and await self._allowed(self._part("groups", "*")):
                return
        for group in groups:
            await self._ask(self._part("groups", group))

    async def _extra(self) -> None:
        extra = self.target.extra
        part = self._part("userextras", "", _AUTHENTICATION)
        if self.mode.constrained and extra:
            if why := _wrong_extra(extra):
                raise forbidden(part, why)
            many = sum(map(len, extra.values())) >= _MANY
            if many and await self._allowed(part._replace(subresource="*", name="*")):
                return
        for key, values in extra.items():
            for value in values:
                await self._ask(part._replace(subresource=key, name=value))

    def _part(self, resource: str, name: str, group: str | None = None) -> Attributes:
        """``group``: None where the legacy mode has a group of its own, the core one."""
        if group is None:
            group = _AUTHENTICATION if self.mode.constrained else ""
        return Attributes(self.request.user, self.mode.verb, group, "v1", resource, name=name)

    async def _allowed(self, question: Attributes) -> bool:
        return (await self.authorize(question)).allowed

    async def _ask(self, question: Attributes) -> None:
        decision = await self.authorize(question)
        if not decision.allowed:
            why = [text for text in (decision.error, decision.reason) if text]
            raise forbidden(question, ": ".join(why))


def _with(groups: tuple[str, ...], group: str) -> tuple[str, ...]:
    return groups if group in groups else (*groups, group)


def _wrong_extra(extra: Mapping[str, tuple[str, ...]]) -> str:
    """Why no constrained mode gives such extras; "" where they are fine."""
    prefix = "impersonating "
    for key, values in extra.items():
        if not key:
            return f"{prefix}the empty string key in extra is not allowed"
        errors = [str(e) for e in domain_prefixed_path(key, FieldPath("extra.key"))]
        if errors:
            return f"{prefix}an invalid key in extra is not allowed: {aggregate(errors)}"
        if key != key.lower():
            return f"{prefix}a non-lowercase key in extra is not allowed: {go_quote(key)}"
        if "" in values:
            return f"{prefix}the empty string value in extra is not allowed"
    return ""
