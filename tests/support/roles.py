"""RBAC objects in memory, as a reader."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from apiserver.authz.bindings import Bound, Identity, bound
from apiserver.meta.objects import Object


class Roles:
    """A reader over a few objects of one tenant."""

    def __init__(self, objects: Iterable[Object] = ()) -> None:
        self.objects: list[Object] = list(objects)

    def add(self, *objects: Object) -> Roles:
        self.objects += objects
        return self

    def _all(self, kind: str, namespace: str = "") -> list[Object]:
        found = [
            o
            for o in self.objects
            if o["kind"] == kind and o["metadata"].get("namespace", "") == namespace
        ]
        return sorted(found, key=lambda o: str(o["metadata"]["name"]))

    async def bound(self, namespace: str, identity: Identity) -> Iterable[Bound]:
        kind = "RoleBinding" if namespace else "ClusterRoleBinding"
        return bound(self._all(kind, namespace), identity, namespace)

    async def role_bindings(self) -> Sequence[Object]:
        return [o for o in self.objects if o["kind"] == "RoleBinding"]

    async def cluster_role(self, name: str) -> Object | None:
        return next((o for o in self._all("ClusterRole") if o["metadata"]["name"] == name), None)

    async def role(self, namespace: str, name: str) -> Object | None:
        return next(
            (o for o in self._all("Role", namespace) if o["metadata"]["name"] == name), None
        )


def role(name: str, *rules: Object, namespace: str = "") -> Object:
    return {
        "kind": "Role" if namespace else "ClusterRole",
        "metadata": {"name": name, "namespace": namespace},
        "rules": list(rules),
    }


def rule(verbs: str, resources: str, groups: str = "", names: str = "") -> Object:
    """Words separated by spaces; the group "core" is ""."""
    made: Object = {
        "verbs": verbs.split(),
        "resources": resources.split(),
        "apiGroups": ["" if g == "core" else g for g in (groups or "core").split()],
    }
    return made | ({"resourceNames": names.split()} if names else {})


def urls(verbs: str, paths: str) -> Object:
    return {"verbs": verbs.split(), "nonResourceURLs": paths.split()}


def binding(name: str, to_role: Object, *subjects: Object, namespace: str = "") -> Object:
    return {
        "kind": "RoleBinding" if namespace else "ClusterRoleBinding",
        "metadata": {"name": name, "namespace": namespace},
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": to_role["kind"],
            "name": to_role["metadata"]["name"],
        },
        "subjects": list(subjects),
    }


def user(name: str) -> Object:
    return {"kind": "User", "name": name, "apiGroup": "rbac.authorization.k8s.io"}


def group(name: str) -> Object:
    return {"kind": "Group", "name": name, "apiGroup": "rbac.authorization.k8s.io"}


def account(name: str, namespace: str = "") -> Object:
    return {"kind": "ServiceAccount", "name": name} | (
        {"namespace": namespace} if namespace else {}
    )
