"""What becomes of an object, judged by its owners. No I/O: the collector brings what is stored.

An owner reference is one of three things. Dangling: no object of that kind and name has that uid
where the dependent may look for it (its own namespace, or the cluster). Waiting: the owner is being
deleted in the foreground, so it waits for its dependents and keeps none of them. Solid: any other
owner that exists. One solid owner is enough to keep an object.

Source: kubernetes ``pkg/controller/garbagecollector/garbagecollector.go`` (attemptToDeleteItem,
classifyReferences, isDangling), "Garbage Collection" in the Kubernetes documentation.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from apiserver.controllers.correlation import Said
from apiserver.golang.strconv import go_quote
from apiserver.kinds.common.objectmeta import FOREGROUND, ORPHAN
from apiserver.kinds.served import Resource
from apiserver.meta.gvk import GroupResource
from apiserver.storage.interface import ObjectKey
from apiserver.storage.relations import Owner

Metadata = Mapping[str, Any]
Reference = Mapping[str, Any]


class Identity(NamedTuple):
    """What an object was that is known to be gone."""

    group: str
    kind: str
    namespace: str
    name: str


class Place(NamedTuple):
    """Where the objects of a kind are stored."""

    storage: GroupResource
    namespaced: bool


class Unresolvable(Exception):
    """A reference that nobody can follow: its kind is not served, or is one that lives in
    namespaces while the dependent is in none. Such an object is never deleted: the kind may come
    back."""


class Kinds:
    """From apiVersion and kind of a reference to where its objects are: one tenant's REST
    mapping."""

    def __init__(self, resources: Iterable[Resource]) -> None:
        self._resources = {(resource.group, resource.kind): resource for resource in resources}

    def place(self, reference: Reference) -> Place:
        """Raises Unresolvable."""
        resource = self.resource(reference)
        return Place(resource.storage, resource.namespaced)

    def resource(self, reference: Reference) -> Resource:
        """Raises Unresolvable."""
        api_version, kind = str(reference.get("apiVersion", "")), str(reference.get("kind", ""))
        group, _, version = api_version.rpartition("/")
        resource = self._resources.get((group, kind))
        served = resource.versions.get(version) if resource is not None else None
        if resource is None or served is None or not served.served or "get" not in served.verbs:
            raise Unresolvable(f"kind {kind} of {api_version} is not served")
        return resource


class Standing(NamedTuple):
    """The owners of one object by uid."""

    solid: set[str]
    dangling: set[str]
    waiting: set[str]


def classify(
    namespace: str,
    references: Iterable[Reference],
    kinds: Kinds,
    owners: Mapping[str, Owner],
    gone: Mapping[str, Identity],
) -> Standing:
    """namespace: the dependent's, "" for none; owners: stored objects by uid; gone: objects of
    which it is known that they have been deleted, which counts even where their kind has been too.
    Raises Unresolvable if one reference is, whatever the others are."""
    standing = Standing(set(), set(), set())
    for reference in references:
        uid, name = reference.get("uid", ""), reference.get("name", "")
        if _matches(reference, namespace, gone.get(uid)):
            standing.dangling.add(uid)
            continue
        place = kinds.place(reference)
        if place.namespaced and not namespace:
            raise Unresolvable(f"{reference.get('kind')} {name} is in a namespace, and this is not")
        key = ObjectKey(*place.storage, namespace if place.namespaced else "", name)
        owner = owners.get(uid)
        if owner is None or owner.key != key:
            standing.dangling.add(uid)
        elif owner.waiting:
            standing.waiting.add(uid)
        else:
            standing.solid.add(uid)
    return standing


def elsewhere(
    namespace: str, references: Iterable[Reference], owners: Mapping[str, Owner]
) -> Reference | None:
    """The first reference whose owner is in another namespace than the dependent, where it owns
    nothing."""
    for reference in references:
        owner = owners.get(reference.get("uid", ""))
        if owner is not None and owner.key.namespace not in ("", namespace):
            return reference
    return None


def said_of_elsewhere(namespace: str, reference: Reference) -> Said:
    """In the words of upstream (``reportInvalidNamespaceOwnerRef``)."""
    api_version, kind, name, uid = (
        reference.get(member, "") for member in ("apiVersion", "kind", "name", "uid")
    )
    owner = f"[{api_version}/{kind}, namespace: {namespace}, name: {name}, uid: {uid}]"
    text = f"ownerRef {owner} does not exist in namespace {go_quote(namespace)}"
    return Said("Warning", "OwnerRefInvalidNamespace", text)


def _matches(reference: Reference, namespace: str, identity: Identity | None) -> bool:
    if identity is None or identity.namespace not in ("", namespace):
        return False
    group = str(reference.get("apiVersion", "")).rpartition("/")[0]
    named = (group, reference.get("kind"), reference.get("name"))
    return named == (identity.group, identity.kind, identity.name)


def policy_of(metadata: Metadata) -> str:
    """How an object is deleted that nobody owns any more: as the finalizers say that it has
    already."""
    finalizers = metadata.get("finalizers") or ()
    if ORPHAN in finalizers:
        return "Orphan"
    return "Foreground" if FOREGROUND in finalizers else "Background"


def references_of(metadata: Metadata) -> list[dict[str, Any]]:
    return metadata.get("ownerReferences") or []


def blocking(reference: Reference) -> bool:
    """Whether it keeps its owner from going: only an explicit true does."""
    return reference.get("blockOwnerDeletion") is True


def blocks(metadata: Metadata, uid: str) -> bool:
    """Whether the object keeps its owner ``uid`` from going."""
    return any(r.get("uid") == uid and blocking(r) for r in references_of(metadata))


# --- changes, in place; each says whether there was anything to do -------------------------------
def release(metadata: dict[str, Any], uids: set[str]) -> bool:
    """Takes off all references to ``uids``."""
    before = references_of(metadata)
    kept = [reference for reference in before if reference.get("uid") not in uids]
    _set(metadata, "ownerReferences", kept)
    return len(kept) != len(before)


def unblock(metadata: dict[str, Any]) -> bool:
    """Its owners need not wait for this object any more."""
    changed = [r for r in references_of(metadata) if blocking(r)]
    for reference in changed:
        reference["blockOwnerDeletion"] = False
    return bool(changed)


def drop_finalizer(metadata: dict[str, Any], name: str) -> bool:
    before = metadata.get("finalizers") or []
    kept = [finalizer for finalizer in before if finalizer != name]
    _set(metadata, "finalizers", kept)
    return len(kept) != len(before)


def _set(metadata: dict[str, Any], name: str, values: list[Any]) -> None:
    if values:
        metadata[name] = values
    else:
        metadata.pop(name, None)
