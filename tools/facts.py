"""Makes the packages' data files from the facts beside the clone, ../shared/facts.

    python -m tools.facts            rewrites the files
    python -m tools.facts --check    exits with 1 if they are not what it would write

The facts were read from a running kube-apiserver; their README says how. Where they do not say all
that the code needs, what only the data file holds is kept as it stands:

    apiserver/kinds/data/resources.json          texts of deprecations, shared storage
    apiserver/kinds/data/columns.json            descriptions of columns (of recorded Tables)
    apiserver/kinds/data/bootstrap.json          nothing
    apiserver/codec/data/protobuf-fields.json    nothing
    apiserver/schema/data/openapi-defaults.json  defaults that markers in Go's source declare
    apiserver/schema/data/unserved-kinds.json    nothing

So are members of groups below `polyplane.dev`, which are our own (CONTRIBUTING.md, Adding a kind),
and resources that are served only where somebody asks for them ("off").

Seven files have no source in ../shared, and no tool makes them. Tests hold them to recorded answers
and documents instead. Their sources, of the release that `controlplane.version.KUBERNETES` names:

    apiserver/schema/data/go-types.json          members and tags of Go's structs in k8s.io/api,
                                                 k8s.io/apimachinery, k8s.io/apiextensions-apiserver
                                                 and k8s.io/kube-aggregator
    apiserver/schema/data/extra-definitions.json the same, of types that no OpenAPI document holds
    apiserver/schema/data/openapi-enums.json     the markers `+enum` there
    apiserver/kinds/data/bootstrap-gated.json    what kubernetes plugin/pkg/auth/authorizer/rbac/
                                                 bootstrappolicy adds for features that are off
    apiserver/kinds/data/internal-types.json     names of members and types of kube-apiserver's
                                                 internal structs (kubernetes pkg/apis/*/types.go)
    apiserver/codec/data/openapi-v2-fields.json  OpenAPIv2.proto of gnostic-models
    apiserver/codec/data/openapi-v3-fields.json  OpenAPIv3.proto of gnostic-models
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from apiserver.codec.protobuf_messages import message_name
from apiserver.schema.definitions import raw_definitions

ROOT = Path(__file__).resolve().parent.parent
FACTS = ROOT.parent / "shared" / "facts"

_OWN_GROUP, _OWN_DEFINITIONS = ".polyplane.dev", "dev.polyplane."
_KEPT_COLUMNS = (
    _OWN_GROUP,
    ".storagemigration.k8s.io",
    "clustertrustbundles.certificates.k8s.io",
)
"""Of resources that the recorded server did not serve."""

_LEFT_OUT = frozenset({"system:controller:service-ca-cert-publisher"})
"""Objects of a controller that only OpenShift has."""
_MARKS = frozenset(
    {
        "kubernetes.io/bootstrapping",
        "rbac.authorization.kubernetes.io/autoupdate",
        "apf.kubernetes.io/autoupdate-spec",
    }
)
"""Labels and annotations that all objects of a kind share: `apiserver.kinds.bootstrap` adds
them."""
_BESIDE_DEFINITIONS = (
    "api.apidiscovery.v2.APIGroupDiscoveryList",
    "apimachinery.pkg.apis.meta.v1.Duration",
    "apimachinery.pkg.apis.meta.v1beta1.PartialObjectMetadataList",
    "apimachinery.pkg.runtime.Unknown",
)
"""Messages that no definition leads to."""
_NO_MESSAGE = frozenset({"apimachinery.pkg.apis.meta.v1.Patch"})
"""A definition that is never sent as a message."""
_GROUPS_OF_PACKAGES = {
    "admissionregistration": "admissionregistration.k8s.io",
    "authentication": "authentication.k8s.io",
    "authorization": "authorization.k8s.io",
    "certificates": "certificates.k8s.io",
    "coordination": "coordination.k8s.io",
    "discovery": "discovery.k8s.io",
    "events": "events.k8s.io",
    "flowcontrol": "flowcontrol.apiserver.k8s.io",
    "networking": "networking.k8s.io",
    "node": "node.k8s.io",
    "rbac": "rbac.authorization.k8s.io",
    "resource": "resource.k8s.io",
    "scheduling": "scheduling.k8s.io",
    "storage": "storage.k8s.io",
    **{name: name for name in ("apps", "autoscaling", "batch", "extensions", "policy")},
}
"""Of k8s.io/api; groups that kube-apiserver serves in no version are not among them."""

Make = Callable[[Any, Any], str]
"""(facts, what the file holds now) → the file's text."""


# --- what is served -------------------------------------------------------------------------------
def resources(facts: list[dict[str, Any]], kept: list[dict[str, Any]]) -> str:
    old = {(entry["group"], entry["resource"]): entry for entry in kept}
    entries: dict[tuple[str, str], dict[str, Any]] = {}
    for fact in facts:
        key = fact["group"], fact["resource"]
        before = old.get(key, {})
        entry = entries.setdefault(key, _entry(fact, before))
        version = _version(fact)
        text = before.get("versions", {}).get(fact["version"], {}).get("deprecated")
        entry["versions"][fact["version"]] = version | ({"deprecated": text} if text else {})
    own = [entry for entry in kept if entry["group"].endswith(_OWN_GROUP) or _is_off(entry)]
    return "[\n" + ",\n".join(map(_compact, [*entries.values(), *own])) + "\n]\n"


def _is_off(entry: Mapping[str, Any]) -> bool:
    """Whether nobody is served it who does not ask, so that no fact tells of it."""
    return all(version.get("off") for version in entry["versions"].values())


def _entry(fact: Mapping[str, Any], before: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "group": fact["group"],
        "resource": fact["resource"],
        "kind": fact["kind"],
        "singular": fact["singular"],
        "namespaced": fact["scope"] == "Namespaced",
        **{name: fact[name] for name in ("shortNames", "categories") if name in fact},
        **({"storage": before["storage"]} if "storage" in before else {}),
        "versions": {},
    }


def _version(fact: Mapping[str, Any]) -> dict[str, Any]:
    version: dict[str, Any] = {"verbs": fact["verbs"]}
    if fact.get("subresources"):
        version["subresources"] = {
            sub["subresource"]: {"kind": _subresource_kind(fact, sub), "verbs": sub["verbs"]}
            for sub in fact["subresources"]
        }
    return version


def _subresource_kind(fact: Mapping[str, Any], sub: Mapping[str, Any]) -> str:
    """Discovery leaves group and version out where they are the resource's own."""
    kind = sub["responseKind"]
    own = not kind["group"] and not kind["version"]
    group, version = (fact if own else kind)["group"], (fact if own else kind)["version"]
    return f"{group}/{version}/{kind['kind']}"


def columns(facts: Mapping[str, list[Any]], kept: Mapping[str, list[Any]]) -> str:
    """Raises KeyError for a column without a description."""
    tables: dict[str, list[Any]] = {}
    for key, rows in facts.items():
        group, _, resource = key.split("/")
        name = f"{resource}.{group}" if group else resource
        described = {row[0]: row[4] for row in kept[name]}
        tables[name] = [[*row, described[row[0]]] for row in rows]
    own = {name: rows for name, rows in kept.items() if name.endswith(_KEPT_COLUMNS)}
    return _object(tables | own, _spaced)


# --- what a tenant begins with --------------------------------------------------------------------
def bootstrap(facts: Mapping[str, list[dict[str, Any]]], kept: object) -> str:
    lists = {
        resource: "[\n"
        + ",\n".join(_compact(_bare(obj)) for obj in objects if _belongs(obj))
        + "\n]"
        for resource, objects in facts.items()
    }
    return "{\n" + ",\n".join(f'"{name}": {text}' for name, text in lists.items()) + "\n}\n"


def _belongs(obj: Mapping[str, Any]) -> bool:
    return obj["metadata"]["name"] not in _LEFT_OUT


def _bare(obj: Mapping[str, Any]) -> dict[str, Any]:
    """Without nulls and without what `_MARKS` names."""
    metadata = {
        name: value
        if isinstance(value, str)
        else {key: text for key, text in value.items() if key not in _MARKS}
        for name, value in obj["metadata"].items()
    }
    members = {name: value for name, value in obj.items() if value is not None}
    return members | {"metadata": {name: value for name, value in metadata.items() if value}}


# --- protobuf -------------------------------------------------------------------------------------
def protobuf_fields(facts: Mapping[str, dict[str, Any]], kept: Mapping[str, Any]) -> str:
    messages = {_short(name): fields for name, fields in facts.items()}
    packages: dict[str, dict[str, str]] = {}
    for name in sorted(_needed(messages)):
        package, _, message = name.rpartition(".")
        by_number = sorted(messages[name].items(), key=lambda item: item[1][0])
        fields = ",".join(_field(package, *field) for field in by_number)
        packages.setdefault(package, {})[message] = fields
    own = {name: held for name, held in kept.items() if name.startswith(_OWN_DEFINITIONS)}
    texts = (
        f'"{package}": {{\n' + ",\n".join(f' "{m}": "{line}"' for m, line in held.items()) + "\n}"
        for package, held in (packages | own).items()
    )
    return "{\n" + ",\n".join(texts) + "\n}\n"


def _needed(messages: Mapping[str, dict[str, Any]]) -> set[str]:
    """What the definitions lead to, and what those messages are made of."""
    waiting = [*map(message_name, raw_definitions()), *_BESIDE_DEFINITIONS]
    needed: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in messages and name not in needed and name not in _NO_MESSAGE:
            needed.add(name)
            waiting += (_shape(kind)[1] for _, kind in messages[name].values())
    return needed


def _field(package: str, name: str, field: tuple[int, str]) -> str:
    number, kind = field
    shape, base = _shape(kind)
    of_package, _, message = base.rpartition(".")
    return f"{name} {number} {shape}{'.' + message if of_package == package else base}"


def _shape(kind: str) -> tuple[str, str]:
    """The mark of `apiserver.codec.protobuf_messages`, and the type of one value."""
    if kind.startswith("repeated "):
        return "*", _short(kind.removeprefix("repeated "))
    if kind.startswith("map<string, "):
        return "%", _short(kind.removeprefix("map<string, ").removesuffix(">"))
    return "", _short(kind)


def _short(name: str) -> str:
    return name.removeprefix("k8s.io.")


# --- schemas --------------------------------------------------------------------------------------
def openapi_defaults(facts: Mapping[str, dict[str, Any]], kept: Mapping[str, Any]) -> str:
    merged = {name: kept.get(name, {}) | facts.get(name, {}) for name in {*facts, *kept}}
    return _object(
        {name: dict(sorted(members.items())) for name, members in sorted(merged.items())}, _compact
    )


def unserved_kinds(facts: Mapping[str, dict[str, Any]], kept: object) -> str:
    """Kinds with messages that are not served in that version; a kind is what has metadata (of
    versions that are generally available there may be other structs that have some). ``facts``:
    the messages; what is served says resources.json."""
    served: dict[str, set[str]] = {}
    for fact in _load(FACTS / "resources.json"):
        served.setdefault(f"{fact['group']}/{fact['version']}", set()).add(fact["kind"])
    kinds: dict[str, list[str]] = {}
    for version, kind in sorted(_kinds(facts)):
        there = served.get(version)
        early = "alpha" in version or "beta" in version
        if there is None or (early and kind.removesuffix("List") not in there):
            kinds.setdefault(version, []).append(kind)
    return (
        "{\n"
        + ",\n".join(f' "{name}": {_spaced(value)}' for name, value in kinds.items())
        + "\n}\n"
    )


def _kinds(messages: Mapping[str, dict[str, Any]]) -> Iterator[tuple[str, str]]:
    for name, fields in messages.items():
        root, _, message = _short(name).rpartition(".")
        top, *names = root.split(".")
        group = _GROUPS_OF_PACKAGES.get(names[0]) if top == "api" else None
        metadata = fields.get("metadata", (0, ""))[1]
        if group and metadata.endswith((".ObjectMeta", ".ListMeta")):
            yield f"{group}/{names[1]}", message


# --- files ----------------------------------------------------------------------------------------
MADE: Mapping[str, tuple[str, Make]] = {
    "apiserver/kinds/data/resources.json": ("resources.json", resources),
    "apiserver/kinds/data/columns.json": ("table-columns.json", columns),
    "apiserver/kinds/data/bootstrap.json": ("bootstrap-objects.json", bootstrap),
    "apiserver/codec/data/protobuf-fields.json": ("protobuf-fields.json", protobuf_fields),
    "apiserver/schema/data/openapi-defaults.json": ("openapi-defaults.json", openapi_defaults),
    "apiserver/schema/data/unserved-kinds.json": ("protobuf-fields.json", unserved_kinds),
}
"""Path of a data file → the facts that it is made of, and how."""


def text_of(path: str) -> str:
    """What the data file should hold. Raises FileNotFoundError where there are no facts."""
    source, make = MADE[path]
    return make(_load(FACTS / source), _load(ROOT / path))


def _load(path: Path) -> Any:
    return json.loads(path.read_bytes())


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _spaced(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _object(members: Mapping[str, Any], write: Callable[[Any], str]) -> str:
    """One member a line."""
    return (
        "{\n" + ",\n".join(f'"{name}": {write(value)}' for name, value in members.items()) + "\n}\n"
    )


def main(arguments: Iterable[str]) -> int:
    check = "--check" in list(arguments)
    if not FACTS.is_dir():
        sys.stderr.write(f"error: {FACTS} is not there\n  fix: put the facts beside the clone.\n")
        return 1
    different = [path for path in MADE if (ROOT / path).read_text() != text_of(path)]
    for path in different:
        print(f"{path}: {'differs from the facts' if check else 'written'}")
        if not check:
            (ROOT / path).write_text(text_of(path))
    return int(check and bool(different))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
