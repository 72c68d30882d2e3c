"""What an authority tells of somebody's rights, held against what it decides."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import TypeVar

from apiserver.authorizers.chain import Authority
from apiserver.authorizers.links import World
from apiserver.authz.attributes import Attributes
from apiserver.authz.rbac import GROUP, UserRules
from apiserver.authz.rules import Rule, break_down, rule_allows
from apiserver.kinds.bootstrap import bootstrap_objects
from apiserver.meta.gvk import GroupResource
from apiserver.meta.objects import Object
from apiserver.meta.times import now
from apiserver.user import User

T = TypeVar("T")

VERBS = (
    *("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"),
    *("*", "escalate", "bind", "impersonate", "approve", "use", ""),
)
_PLURALS = {"ClusterRole": "clusterroles", "ClusterRoleBinding": "clusterrolebindings"}


class Held:
    """admission.Lookup of a tenant as it comes, with these beside its roles and bindings, or in
    their place. served: as `resources` tells it."""

    def __init__(self, *objects: Object, served: Mapping[str, Sequence[str]]) -> None:
        self._served = served
        self._objects: dict[tuple[str, str], Object] = {}
        for obj in (*bootstrap_objects(now()), *objects):
            if obj["kind"] in _PLURALS:
                self._objects[_PLURALS[obj["kind"]], obj["metadata"]["name"]] = obj

    async def get(self, resource: GroupResource, namespace: str, name: str) -> Object | None:
        assert resource.group == GROUP
        return self._objects.get((resource.resource, name))

    async def list(self, resource: GroupResource, namespace: str = "") -> Sequence[Object]:
        assert resource.group == GROUP
        return [obj for (of, _), obj in self._objects.items() if of == resource.resource]

    async def run(self, work: Callable[[], T]) -> T:
        return work()

    def resources(self) -> Mapping[str, Sequence[str]]:
        return self._served


def role(name: str, rules: Sequence[Rule]) -> Object:
    return {"kind": "ClusterRole", "metadata": {"name": name}, "rules": rules}


def questions(
    user: User,
    resources: Mapping[str, Iterable[str]],
    verbs: Iterable[str],
    names: Iterable[str],
    namespaces: Iterable[str] = ("shop",),
) -> Iterator[Attributes]:
    """About each of ``resources``, which are named as `Held.resources` does."""
    for group, of_group in resources.items():
        for full, verb, name, namespace in product(of_group, verbs, names, namespaces):
            resource, _, sub = full.partition("/")
            yield Attributes(user, verb, group, "v1", resource, sub, namespace, name)


def of_urls(user: User) -> list[Attributes]:
    paths = ("/", "/metrics", "/healthz", "/version", "/apis/apps", "*")
    return [
        Attributes(user, verb, path=path, is_resource=False)
        for path, verb in product(paths, ("get", "post", "*"))
    ]


def parts(user: User, rules: Iterable[Rule]) -> Iterator[Attributes]:
    """The questions that rules answer with yes, one for each combination of what they say."""
    for part in (one for rule in rules for one in break_down(rule)):
        (verb,) = part["verbs"]
        if "nonResourceURLs" in part:
            (path,) = part["nonResourceURLs"]
            yield Attributes(user, verb, path=path, is_resource=False)
            continue
        (group,), (full,) = part["apiGroups"], part["resources"]
        resource, _, sub = full.partition("/")
        (name,) = part.get("resourceNames", ("any",))
        yield Attributes(user, verb, group, "v1", resource, sub, "shop", name)


def covered(told: UserRules, asked: Attributes) -> bool:
    return any(rule_allows(rule, asked) for rule in told.rules)


async def check_told(
    authority: Authority, world: World, told: UserRules, asked: Iterable[Attributes]
) -> list[Attributes]:
    """What is allowed and not told; fails where more is told than allowed. ``asked`` are of one
    user, whom ``told`` is about."""
    untold = []
    for question in asked:
        allowed = (await authority.authorize(world, question)).allowed
        if covered(told, question):
            assert allowed, (question, "is told and not allowed")
        elif allowed:
            untold.append(question)
    return untold
