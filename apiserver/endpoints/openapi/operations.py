"""The operations that a resource offers, before they are written down in one version of OpenAPI.

Source: k8s.io/apiserver ``endpoints/installer.go`` (built-in resources),
k8s.io/apiextensions-apiserver ``controller/openapi/builder`` (custom ones) and
``endpoints/openapi`` (operation ids).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from apiserver.codec import negotiate
from apiserver.endpoints.openapi import parameters
from apiserver.endpoints.openapi.parameters import Parameter
from apiserver.kinds.served import Resource, ServedVersion, Subresource
from apiserver.meta.gvk import GroupVersionKind
from apiserver.schema.builtin import kinds
from apiserver.schema.definitions import META, raw_definitions

STATUS, PATCH_BODY, DELETE_OPTIONS, WATCH_EVENT = (
    META + "Status",
    META + "Patch",
    META + "DeleteOptions",
    META + "WatchEvent",
)
STREAMED = (
    *negotiate.ALL,
    *(negotiate.STREAMS[m] for m in negotiate.ALL if m in negotiate.STREAMS),
)
_CUSTOM_MEDIA = (negotiate.JSON, negotiate.YAML)
_CUSTOM_PATCHES = (negotiate.JSON_PATCH, negotiate.MERGE_PATCH, negotiate.APPLY_YAML)
_TEXTS = {200: "OK", 201: "Created", 202: "Accepted"}
_METHODS = {"create": "post", "delete": "delete", "get": "get", "patch": "patch", "update": "put"}
_CONNECTED = frozenset({"attach", "exec", "portforward", "proxy"})


@dataclass(frozen=True, slots=True)
class Operation:
    """method: lower case; id: operationId; body, responses: names of definitions ("" for plain
    text)."""

    method: str
    action: str
    id: str
    text: str
    tag: str
    gvk: GroupVersionKind | None = None
    parameters: tuple[Parameter, ...] = ()
    body: str = ""
    body_required: bool = True
    responses: Mapping[int, str] = field(default_factory=dict)
    consumes: tuple[str, ...] = ("*/*",)
    produces: tuple[str, ...] = negotiate.ALL

    def response_text(self, code: int) -> str:
        return _TEXTS[code]


Paths = dict[str, list[Operation]]


def identifier(text: str, *, capital: bool) -> str:
    """Camel case of what a name consists of."""
    words = "".join(c if c.isalnum() or c == "_" else " " for c in text).split()
    name = "".join(w[:1].upper() + w[1:] for w in words)
    return name if capital else name[:1].lower() + name[1:]


def tag_of(group: str, version: str = "") -> str:
    short = identifier(group.removesuffix(".k8s.io") or "core", capital=False)
    return f"{short}_{version}" if version else short


def prefix_of(group: str, version: str = "") -> str:
    return f"/apis/{group}/{version}".rstrip("/") if group else f"/api/{version}".rstrip("/")


def definition_name(gvk: GroupVersionKind) -> str:
    """Of a built-in kind, or what a custom kind's definition is called."""
    kind_name = kinds().get(gvk)
    if kind_name is not None:
        return kind_name
    name = f"{'.'.join(reversed(gvk.group.split('.')))}.{gvk.version}.{gvk.kind}"
    return f"{name}_v2" if name in raw_definitions() else name  # as kube-openapi renames it


class Builder:
    """Operations of one resource in one version."""

    def __init__(self, resource: Resource, served: ServedVersion) -> None:
        self.resource, self.served = resource, served
        self.gvk = resource.gvk(served.version)
        self.definition = definition_name(self.gvk)
        self.list_definition = definition_name(
            GroupVersionKind(resource.group, served.version, resource.list_kind)
        )
        self.tag = tag_of(resource.group, served.version)
        self.paths: Paths = {}
        self._media = negotiate.ALL if resource.has_routes else _CUSTOM_MEDIA
        self._consumes = ("*/*",) if resource.has_routes else _CUSTOM_MEDIA

    def build(self) -> Paths:
        base = prefix_of(self.resource.group, self.served.version)
        plural = self.resource.resource
        root = (
            f"{base}/namespaces/{{namespace}}/{plural}"
            if self.resource.namespaced
            else f"{base}/{plural}"
        )
        if self.resource.namespaced and "list" in self.served.verbs:
            self._add(f"{base}/{plural}", self._list(across=True))
        if (
            self.resource.namespaced
            and "list" not in self.served.verbs
            and "create" in self.served.verbs
        ):
            self._add(root, self._create())
        else:
            self._collection(root)
        self._object(f"{root}/{{name}}")
        for sub in self.served.subresources.values():
            self._subresource(f"{root}/{{name}}/{sub.name}", sub)
        if "watch" in self.served.verbs and self.resource.has_routes:
            self._watches(f"{base}/watch", plural)
        return self.paths

    # --- paths ------------------------------------------------------------------------------------
    def _collection(self, root: str) -> None:
        verbs = self.served.verbs
        if "list" in verbs:
            self._add(root, self._list())
        if "create" in verbs:
            self._add(root, self._create())
        if "deletecollection" in verbs:
            self._add(root, self._delete_collection())

    def _object(self, path: str) -> None:
        for verb in self.served.verbs:
            if verb in ("get", "update", "patch", "delete"):
                self._add(path, self._on_object(verb, None))

    def _subresource(self, path: str, sub: Subresource) -> None:
        if sub.name in _CONNECTED:
            self._connect(path, sub)
            return
        for verb in sub.verbs:
            self._add(path, self._on_object(verb, sub))

    def _watches(self, base: str, plural: str) -> None:
        """The deprecated paths with /watch/."""
        kind, across = self.resource.kind, "ForAllNamespaces" if self.resource.namespaced else ""
        self._add(f"{base}/{plural}", self._watch("watchlist", f"{kind}List{across}", ()))
        if self.resource.namespaced:
            base += "/namespaces/{namespace}"
            self._add(
                f"{base}/{plural}",
                self._watch("watchlist", f"Namespaced{kind}List", (parameters.NAMESPACE,)),
            )
        if "get" in self.served.verbs:
            named = (*self._scope(), parameters.name_of(kind))
            self._add(f"{base}/{plural}/{{name}}", self._watch("watch", self._operand(), named))

    # --- operations -------------------------------------------------------------------------------
    def _add(self, path: str, operation: Operation) -> None:
        self.paths.setdefault(path, []).append(operation)

    def _id(self, verb: str, operand: str) -> str:
        group = identifier(self.resource.group.removesuffix(".k8s.io") or "core", capital=True)
        return f"{verb}{group}{identifier(self.served.version, capital=True)}{operand}"

    def _operand(self, sub: str = "") -> str:
        scope = "Namespaced" if self.resource.namespaced else ""
        return f"{scope}{self.resource.kind}{sub[:1].upper() + sub[1:]}"

    def _scope(self) -> tuple[Parameter, ...]:
        return (parameters.NAMESPACE,) if self.resource.namespaced else ()

    def _list(self, *, across: bool = False) -> Operation:
        operand = f"{self.resource.kind}ForAllNamespaces" if across else self._operand()
        return Operation(
            method="get",
            action="list",
            id=self._id("list", operand),
            text=f"list or watch objects of kind {self.resource.kind}",
            tag=self.tag,
            gvk=self.gvk,
            parameters=(*parameters.LIST, *(() if across else self._scope())),
            responses={200: self.list_definition},
            consumes=self._consumes,
            produces=self._media
            if not self.resource.has_routes or "watch" not in self.served.verbs
            else STREAMED,
        )

    def _create(self) -> Operation:
        return Operation(
            method="post",
            action="post",
            id=self._id("create", self._operand()),
            text=f"create objects of kind {self.resource.kind}",
            tag=self.tag,
            gvk=self.gvk,
            parameters=(*parameters.CREATE, *self._scope()),
            body=self.definition,
            responses=dict.fromkeys((200, 201, 202), self.definition),
            consumes=self._consumes,
            produces=self._media,
        )

    def _delete_collection(self) -> Operation:
        return Operation(
            method="delete",
            action="deletecollection",
            id=self._id("delete", "Collection" + self._operand()),
            text=f"delete objects of kind {self.resource.kind}",
            tag=self.tag,
            gvk=self.gvk,
            parameters=(
                *(parameters.DELETE_COLLECTION if self.resource.has_routes else parameters.LIST),
                *self._scope(),
            ),
            body=DELETE_OPTIONS if self.resource.has_routes else "",
            body_required=False,
            responses={200: STATUS},
            consumes=self._consumes,
            produces=self._media,
        )

    def _on_object(self, verb: str, sub: Subresource | None) -> Operation:
        name = sub.name if sub is not None else ""
        gvk = self.gvk if sub is None or not self.resource.has_routes else sub.kind
        media_types = self._media_types(verb, sub)
        words = {"get": "read", "update": "replace", "patch": "partially update"}.get(verb, verb)
        return Operation(
            method=_METHODS[verb],
            action=_METHODS[verb],
            id=self._id({"get": "read", "update": "replace"}.get(verb, verb), self._operand(name)),
            text=f"{words} {name + ' of ' if name else ''}one {self.resource.kind}",
            tag=self.tag,
            gvk=gvk,
            parameters=(
                *self._options(verb, sub),
                *self._scope(),
                parameters.name_of(self.resource.kind),
            ),
            body={"get": "", "patch": PATCH_BODY, "delete": DELETE_OPTIONS}.get(verb, media_types),
            body_required=verb != "delete",
            responses=dict.fromkeys(self._codes(verb), media_types),
            consumes=self._patches() if verb == "patch" else self._consumes,
            produces=("text/plain", *negotiate.ALL) if name == "log" else self._media,
        )

    def _media_types(self, verb: str, sub: Subresource | None) -> str:
        """The definition of what an operation answers with."""
        if verb == "delete":
            return self.definition if self.resource.hooks.returns_deleted else STATUS
        if sub is None:
            return self.definition
        return "" if sub.name == "log" else definition_name(sub.kind)

    def _options(self, verb: str, sub: Subresource | None) -> tuple[Parameter, ...]:
        if sub is not None and sub.name == "log":
            return (*parameters.GET, *parameters.OPTIONS["PodLogOptions"])
        get = parameters.GET if self.resource.has_routes else parameters.GET_CUSTOM
        if self.resource.has_routes:
            kind = self.resource.kind if sub is None else sub.kind.kind
            get = (*get, *parameters.OPTIONS.get(kind, ()))
        return {"get": get, "patch": parameters.PATCH, "delete": parameters.DELETE}.get(
            verb, parameters.CREATE
        )

    def _codes(self, verb: str) -> tuple[int, ...]:
        """An apply may create custom objects too, but their documents do not say so."""
        return (200,) if verb == "patch" and not self.resource.has_routes else _CODES[verb]

    def _patches(self) -> tuple[str, ...]:
        return negotiate.BUILTIN_PATCHES if self.resource.has_routes else _CUSTOM_PATCHES

    def _watch(self, action: str, operand: str, scope: tuple[Parameter, ...]) -> Operation:
        return Operation(
            method="get",
            action=action,
            id=self._id("watch", operand),
            text=(
                f"watch objects of kind {self.resource.kind}; deprecated, use the "
                f"parameter watch of a list"
            ),
            tag=self.tag,
            gvk=self.gvk,
            parameters=(*parameters.LIST, *scope),
            responses={200: WATCH_EVENT},
            produces=STREAMED,
        )

    def _connect(self, path: str, sub: Subresource) -> None:
        options = parameters.OPTIONS[sub.kind.kind]
        named = (*options, *self._scope(), parameters.name_of(sub.kind.kind))
        methods = [_METHODS[v] for v in sub.verbs]
        if sub.name == "proxy":
            methods += ["head", "options"]
        for method in methods:
            for tail, more in (
                (("", ()), ("/{path}", (parameters.PATH,))) if sub.name == "proxy" else (("", ()),)
            ):
                operand = (
                    f"{method.capitalize()}{self._operand(sub.name)}{'WithPath' if tail else ''}"
                )
                operation = Operation(
                    method=method,
                    action="connect",
                    id=self._id("connect", operand),
                    text=f"connect {method.upper()} requests to {sub.name} of {self.resource.kind}",
                    tag=self.tag,
                    gvk=sub.kind,
                    parameters=(*named, *more),
                    responses={200: ""},
                    produces=("*/*",),
                )
                self._add(path + tail, operation)


_CODES = {
    "get": (200,),
    "update": (200, 201),
    "patch": (200, 201),
    "delete": (200, 202),
    "create": (200, 201, 202),
}


def served_versions(resources: Iterable[Resource]) -> Iterator[tuple[Resource, ServedVersion]]:
    for resource in resources:
        for served in resource.versions.values():
            if served.served:
                yield resource, served


def document_operation(path: str, id: str, text: str, tag: str, definition: str) -> Paths:
    """The GET of a discovery document or of /version/."""
    media: tuple[str, ...] = (negotiate.JSON,) if path == "/version/" else negotiate.DISCOVERY
    if definition.endswith("APIResourceList"):
        media = negotiate.ALL
    operation = Operation(
        method="get",
        action="",
        id=id,
        text=text,
        tag=tag,
        responses={200: definition},
        consumes=media,
        produces=media,
    )
    return {path: [operation]}
