"""Parameters of operations in both OpenAPI versions.

Version 2 shares what many operations have in common under ``#/parameters/NAME-HASH``. The hashes
are those of kube-apiserver's documents, because generated clients refer to parameters by these
names; they are a name here, not a checksum of our own descriptions.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from typing import Any

Node = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Parameter:
    """shared: name under ``#/parameters``, "" when every operation spells it out; place: "query" or
    "path"."""

    name: str
    type: str
    text: str
    shared: str = ""
    place: str = "query"

    def node(self) -> Node:
        """Version 2's form."""
        document: Node = {
            "description": self.text,
            "in": self.place,
            "name": self.name,
            "type": self.type,
            "uniqueItems": True,
        }
        return {**document, "required": True} if self.place == "path" else document

    def v2(self) -> Node:
        return {"$ref": f"#/parameters/{self.shared}"} if self.shared else self.node()

    def v3(self) -> Node:
        node: Node = {
            "description": self.text,
            "in": self.place,
            "name": self.name,
            "schema": {"type": self.type, "uniqueItems": True},
        }
        return {**node, "required": True} if self.place == "path" else node


_TABLE = """
allowWatchBookmarks|boolean|HC2hJt-J|Asks a watch for events of type BOOKMARK, which tell how far \
it has come.
continue|string|QfD61s0i|The token of the previous page of this list.
dryRun|string||"All": everything is done but storing.
fieldManager|string|Qy4HdaTW|Name of the actor that makes the change, for field management; by \
default taken from the user agent.
fieldSelector|string|xIcQKXFG|Restricts the objects by their fields.
fieldValidation|string||What becomes of unknown and duplicate fields: Ignore, Warn (the default) \
or Strict.
force|boolean|tOGGb0Yi|Lets an apply take over fields that other managers own. Only for apply \
patches.
gracePeriodSeconds|integer|-K5HaBOS|Seconds until the object goes; 0 means at once, absent means \
the kind's own.
ignoreStoreReadErrorWithClusterBreakingPotential|boolean|QbNkfIqj|Deletes even an object that \
cannot be read any more, without finalizers.
labelSelector|string|5Zw57w4C|Restricts the objects by their labels.
limit|integer|1NfNmdNH|The most objects that one answer may hold; "continue" in its metadata \
leads to the rest.
orphanDependents|boolean|uRB25kX5|Deprecated, use propagationPolicy: whether dependents stay.
pretty|string|tJGM1-ng|If 'true', the answer is indented.
propagationPolicy|string|6jk3prlO|What becomes of dependents: Orphan, Background or Foreground.
resourceVersion|string|5WAnf1kx|Which state the answer may be served from.
resourceVersionMatch|string|t8XhRHeC|How resourceVersion is meant: NotOlderThan or Exact.
sendInitialEvents|boolean|rLXlEK_k|Lets a watch begin with the objects that are there, ended by \
an annotated BOOKMARK.
shardSelector|string|Kgyki_3_|Restricts the objects to one share of their hash range.
timeoutSeconds|integer|yvYezaOC|Seconds after which the list or watch ends.
watch|boolean|XNNPZGbK|Watches for changes instead of listing.
"""


_OPTIONS_TABLE = """
Revision
apiVersion|string||The version of its kind that the object is shown in.
ClusterRevision
apiVersion|string||The version of its kind that the object is shown in.
RevisionDiff
apiVersion|string||The version of their kind in which the objects are compared.
from|string||The revision to compare with; absent means the one before.
RevisionBlame
apiVersion|string||The version of its kind whose fields are told.
PodLogOptions
container|string|1GeXxFDC|Whose log; may be left out where the pod has one container.
follow|boolean|9OIXh_2R|Goes on with what is logged from now on.
insecureSkipTLSVerifyBackend|boolean|gM00jVbe|Trusts the kubelet without a look at its certificate.
limitBytes|integer|zwd1RXuc|Bytes after which the log is cut off.
previous|boolean|1jxDPu3y|The log of the container that ended before this one.
sinceSeconds|integer|vE2NLdnP|Leaves out what is older than so many seconds.
stream|string|l-48cgXv|Which stream: All, Stdout or Stderr.
tailLines|integer|9xQLWHMV|The last lines only, so many of them.
timestamps|boolean|c17fW1w_|Puts the time before each line.
PodExecOptions
command|string|Py3eQybp|What is run, one part of it in each; no shell reads it.
container|string|i5dOmRiM|Where; may be left out where the pod has one container.
stderr|boolean|W_1TNlWc|Whether standard error is sent back.
stdin|boolean|PSzNhyUC|Whether there is something to read for the command.
stdout|boolean|-EZLRwV1|Whether standard output is sent back.
tty|boolean|s0flW37O|Whether the command has a terminal.
PodAttachOptions
container|string|_Q-EJ3nR|Which one; may be left out where the pod has one container.
stderr|boolean|26jJhFUR|Whether standard error is sent back.
stdin|boolean|sEFnN3IS|Whether there is something to read for the process.
stdout|boolean|005YMKE6|Whether standard output is sent back.
tty|boolean|g7MlET_l|Whether there is a terminal.
PodPortForwardOptions
ports|integer|91KROJmm|The ports; WebSockets have to name them.
PodProxyOptions
path|string|oPbzgLUj|The path to ask the pod for.
ServiceProxyOptions
path|string|QCf0eosM|The path to ask the service for.
NodeProxyOptions
path|string|rFDtV0x9|The path to ask the node for.
"""
"""Kinds of options, or of what is read with them, each with its members in the lines below it."""


def _parse(line: str) -> Parameter:
    name, kind, tag, text = line.split("|")
    return Parameter(name, kind, text, f"{name}-{tag}" if tag else "")


def _options() -> dict[str, tuple[Parameter, ...]]:
    options: dict[str, tuple[Parameter, ...]] = {}
    kind = ""
    for line in _OPTIONS_TABLE.strip().splitlines():
        if "|" in line:
            options[kind] += (_parse(line),)
        else:
            kind = line
            options[kind] = ()
    return options


QUERY = {p.name: p for p in map(_parse, _TABLE.strip().splitlines())}
OPTIONS = _options()
"""Kind of options, or of what is read → the query parameters of the operations that take them."""
NAMESPACE = Parameter(
    "namespace", "string", "The namespace of the object.", "namespace-vgWSWtn3", "path"
)
PATH = Parameter("path", "string", "The rest of the URL to pass on.", "path-z6Ciiujn", "path")
APPLY_MANAGER = Parameter(
    "fieldManager",
    "string",
    QUERY["fieldManager"].text + " Required for apply.",
    "fieldManager-7c6nTn1T",
)

_LIST_OPTIONS = (
    "allowWatchBookmarks",
    "continue",
    "fieldSelector",
    "labelSelector",
    "limit",
    "pretty",
    "resourceVersion",
    "resourceVersionMatch",
    "sendInitialEvents",
    "shardSelector",
    "timeoutSeconds",
    "watch",
)
LIST = tuple(QUERY[name] for name in _LIST_OPTIONS)
CREATE = tuple(QUERY[name] for name in ("dryRun", "fieldManager", "fieldValidation", "pretty"))
PATCH = (QUERY["dryRun"], APPLY_MANAGER, QUERY["fieldValidation"], QUERY["force"], QUERY["pretty"])
GET = (QUERY["pretty"],)
GET_CUSTOM = (*GET, QUERY["resourceVersion"])
_DELETE_OPTIONS = (
    "dryRun",
    "gracePeriodSeconds",
    "ignoreStoreReadErrorWithClusterBreakingPotential",
    "orphanDependents",
    "propagationPolicy",
    "pretty",
)
DELETE = tuple(QUERY[name] for name in _DELETE_OPTIONS)
DELETE_COLLECTION = (
    *DELETE,
    *(p for p in LIST if p.name not in ("allowWatchBookmarks", "watch", "pretty")),
)

SHARED_BODIES = {
    "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions": "body-2Y1dVQaQ",
    "io.k8s.apimachinery.pkg.apis.meta.v1.Patch": "body-78PwaGsr",
}


def name_of(kind: str) -> Parameter:
    return Parameter("name", "string", f"Name of the {kind}.", "", "path")


def shared() -> dict[str, Node]:
    """The ``parameters`` of a version 2 document."""
    known = (*QUERY.values(), *chain(*OPTIONS.values()), NAMESPACE, PATH, APPLY_MANAGER)
    parameters = {p.shared: p.node() for p in known if p.shared}
    for definition, name in SHARED_BODIES.items():
        parameters[name] = body(definition, required=definition.endswith(".Patch"))
    return dict(sorted(parameters.items()))


def body(definition: str, *, required: bool) -> Node:
    node: Node = {"in": "body", "name": "body", "schema": {"$ref": f"#/definitions/{definition}"}}
    return {**node, "required": True} if required else node


def common(groups: Iterable[Iterable[Parameter]]) -> tuple[Parameter, ...]:
    """Those that every operation of a path has: they are stated once, at the path."""
    lists = [{(p.name, p.place): p for p in group} for group in groups]
    shared_keys = set(lists[0]).intersection(*lists[1:])
    return tuple(lists[-1][key] for key in sorted(shared_keys))
