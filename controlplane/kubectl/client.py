"""kubectl as a way to the API: raw paths below the tenant's own, Status errors as one line."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode, urlsplit

ROOT = "/apis/history.polyplane.dev/v1"
SEARCH = "search.polyplane.dev/v1"
_WRONG_SCOPE = "ask for clusterrevisions"
_PAGE = 500

Json = dict[str, Any]


class Failed(Exception):
    """What kubectl complained of, for the person at the terminal."""


@dataclass(frozen=True, slots=True)
class Kubectl:
    """flags: of kubectl (--context ...), for every call. namespace: "" for that of the context."""

    flags: Sequence[str] = ()
    namespace: str = ""
    program: str = "kubectl"

    def run(self, *arguments: str, stdin: str | None = None) -> str:
        """What it prints. Raises Failed."""
        command = [self.program, *arguments, *self.flags]
        try:
            done = subprocess.run(  # noqa: S603  the user's own kubectl, with the user's words
                command, input=stdin, capture_output=True, text=True
            )
        except FileNotFoundError:
            raise Failed(f"{self.program} is not on PATH") from None
        if done.returncode:
            raise Failed(done.stderr.strip() or f"{self.program} ended with {done.returncode}")
        return done.stdout

    def at_tenant(self) -> Tenant:
        """Where the context leads. Raises Failed."""
        try:
            seen = json.loads(self.run("config", "view", "--minify", "-o", "json"))
        except Failed as error:
            if "current-context" not in str(error):
                raise
            raise Failed(_NO_CONTEXT) from None
        clusters, contexts = seen.get("clusters") or [], seen.get("contexts") or []
        server = clusters[0]["cluster"].get("server", "") if clusters else ""
        for flag in self.flags:
            name, _, value = flag.partition("=")
            server = value if name == "--server" else server
        namespace = contexts[0]["context"].get("namespace", "") if contexts else ""
        prefix = urlsplit(server).path.rstrip("/")
        return Tenant(self, prefix, self.namespace or namespace or "default")


_NO_CONTEXT = (
    "error: the kubeconfig has no current context, or there is none.\n"
    "  fix: --context NAME, or kubectl config use-context NAME, or set KUBECONFIG"
)


class Served(NamedTuple):
    """A resource that can be listed. version: as in apiVersion."""

    name: str
    version: str
    namespaced: bool

    @property
    def group(self) -> str:
        return self.version.rpartition("/")[0]


@dataclass(slots=True)
class Tenant:
    """prefix: of the server's paths, which raw requests of kubectl leave out. revisions: the
    collection that objects of the kind that was asked for last have theirs in."""

    kubectl: Kubectl
    prefix: str
    namespace: str
    revisions: str = ""

    def __post_init__(self) -> None:
        self.revisions = f"{ROOT}/namespaces/{quote(self.namespace, safe='')}/revisions"

    @property
    def within(self) -> str:
        """Where its revisions are, in words."""
        return (
            ""
            if self.revisions.endswith("/clusterrevisions")
            else f" in namespace {self.namespace}"
        )

    def get(self, path: str, sort_by: Sequence[str] = (), **query: str) -> Json:
        asked = {name: value for name, value in query.items() if value}
        text = urlencode({**asked, "sortBy": sort_by}, doseq=True)
        answer: Json = json.loads(self.kubectl.run("get", "--raw", f"{self.prefix}{path}?{text}"))
        return answer

    def post(self, path: str, body: Json, **query: str) -> Json:
        text = urlencode({name: value for name, value in query.items() if value})
        arguments = ("create", "--raw", f"{self.prefix}{path}?{text}", "-f", "-")
        answer: Json = json.loads(self.kubectl.run(*arguments, stdin=json.dumps(body)))
        return answer

    def collection(self, kind: str, everywhere: bool) -> str:
        """The path of a kind's objects. Raises Failed."""
        (served,) = self.served([kind])
        root = f"/apis/{served.version}" if served.group else f"/api/{served.version}"
        within = served.namespaced and not everywhere
        space = f"/namespaces/{quote(self.namespace, safe='')}" if within else ""
        return f"{root}{space}/{served.name}"

    def served(self, kinds: Sequence[str]) -> Sequence[Served]:
        """What these words mean, of which kubectl knows the names. Raises Failed."""
        known: dict[str, Served] = {}
        for line in self.kubectl.run("api-resources", "--no-headers", "--verbs=list").splitlines():
            name, *short, version, namespaced, cased = line.split()
            served = Served(name, version, namespaced == "true")
            names = [name, cased.lower(), f"{name}.{served.group}"]
            for word in (*names, *(n for s in short for n in s.split(","))):
                known.setdefault(word, served)
        if unknown := [kind for kind in kinds if kind.lower() not in known]:
            raise Failed(f'the server doesn\'t have a resource type "{unknown[0]}"')
        return [known[kind.lower()] for kind in kinds]

    def objects(self, path: str, sort_by: Sequence[str], most: int, **query: str) -> Json:
        """The first ``most`` objects of a list, 0: all; its remainingItemCount is exact."""
        items: list[Json] = []
        token = ""
        while True:
            limit = str(min(most - len(items), _PAGE) if most else _PAGE)
            asked = {
                **query,
                "limit": limit,
                "continue": token,
                "count": query.get("count", "true"),
            }
            page = self.get(path, sort_by, **asked)
            items += page["items"]
            token = page["metadata"].get("continue", "")
            if not token or (most and len(items) >= most):
                return {**page, "items": items}

    def list(self, fields: Mapping[str, str], labels: str = "", most: int = 0) -> Sequence[Json]:
        """Revisions, the newest first: ``most`` of them, 0: all. Finds out where objects of the
        kind have theirs."""
        try:
            return self._list(fields, labels, most)
        except Failed as error:
            if _WRONG_SCOPE not in str(error):
                raise
        self.revisions = f"{ROOT}/clusterrevisions"
        return self._list(fields, labels, most)

    def _list(self, fields: Mapping[str, str], labels: str, most: int) -> Sequence[Json]:
        selector = ",".join(f"{k}={_escaped(v)}" for k, v in fields.items() if v)
        items: list[Json] = []
        token = ""
        while True:
            limit = str(min(most - len(items), _PAGE) if most else _PAGE)
            page = self.get(
                self.revisions,
                fieldSelector=selector,
                labelSelector=labels,
                limit=limit,
                **{"continue": token},
            )
            items += page["items"]
            token = page["metadata"].get("continue", "")
            if not token or (most and len(items) >= most):
                return items

    def search(self, spec: Mapping[str, Any], most: int) -> Json:
        """The status of an ObjectSearch with the first ``most`` objects; 0: all."""
        status: Json = {"items": []}
        token = ""
        while True:
            left = most - len(status["items"])
            asked = {**spec, "limit": min(left, _PAGE) if most else _PAGE, "continue": token}
            review = {"apiVersion": SEARCH, "kind": "ObjectSearch", "spec": asked}
            page = self.post(f"/apis/{SEARCH}/objectsearches", review)["status"]
            items = [*status["items"], *page.get("items", ())]
            status = {**status, **page, "items": items}
            token = page.get("continue", "")
            if not token or (most and len(items) >= most):
                return status if token else {k: v for k, v in status.items() if k != "continue"}

    def count(self, kinds: Sequence[str], namespace: str) -> Json:
        """The status of an ObjectCount. kinds: none for all; namespace: "" for all. Raises
        Failed."""
        named = self.served(kinds) if kinds else ()
        resources = [{"group": served.group, "resource": served.name} for served in named]
        spec = {"namespace": namespace, "resources": resources}
        review = {"apiVersion": SEARCH, "kind": "ObjectCount", "spec": spec}
        status: Json = self.post(f"/apis/{SEARCH}/objectcounts", review).get("status", {})
        return status


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace(",", "\\,").replace("=", "\\=")
