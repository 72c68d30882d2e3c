"""kubectl polyplane history|diff|blame|rollback|undelete|as-of|reach|search|list|count."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from typing import Any

from controlplane.kubectl import show
from controlplane.kubectl.client import ROOT, Failed, Kubectl, Tenant
from controlplane.kubectl.gutter import dump

_PASSED_ON = (
    *("context", "kubeconfig", "cluster", "user", "server", "token", "username", "password"),
    *("as", "as-group", "as-uid", "certificate-authority", "client-certificate", "client-key"),
    *("tls-server-name", "request-timeout", "cache-dir"),
)
_SWITCHES = ("insecure-skip-tls-verify", "disable-compression", "match-server-version")
"""Flags of kubectl's that say with whom and as whom it speaks: with a value, and without."""
_HELPED = ("context", "kubeconfig", "as")
_CONNECTION = (
    "kubectl's other flags about the connection and the user (kubectl options) are known, too"
)
_MANAGER = "kubectl-polyplane"
_OUTPUTS = ("text", "table", "json", "yaml")


def main(arguments: Sequence[str] | None = None) -> None:
    """Exits with 1 and one line where something was refused."""
    asked = _parser().parse_args(_ordered(sys.argv[1:] if arguments is None else arguments))
    asked.output = "text" if asked.output == "table" else asked.output
    flags = [f"--{name}={value}" for name, value in _passed_on(asked)]
    try:
        tenant = Kubectl(flags, asked.namespace).at_tenant()
        sys.stdout.write(_COMMANDS[asked.command](tenant, asked))
    except Failed as error:
        sys.exit(f"{error}")
    except (KeyboardInterrupt, BrokenPipeError):
        sys.exit(130)


def _ordered(words: Sequence[str]) -> list[str]:
    """With flags that stand before the command, as before kubectl's own, behind it."""
    at = 0
    while at < len(words) and words[at].startswith("-") and words[at] not in ("-h", "--help"):
        word = words[at]
        holds_value = "=" in word or (word[1:2] != "-" and len(word) > 2)
        at += 1 if holds_value or word.removeprefix("--") in _SWITCHES else 2
    return [*words[at : at + 1], *words[:at], *words[at + 1 :]]


def _passed_on(asked: argparse.Namespace) -> list[tuple[str, str]]:
    given = [(name, getattr(asked, name.replace("-", "_"))) for name in (*_PASSED_ON, *_SWITCHES)]
    return [(name, value) for name, values in given for value in values or ()]


def _number(text: str) -> int:
    """Raises ArgumentTypeError."""
    if not text.isascii() or not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 0 on")
    return int(text)


def _common() -> argparse.ArgumentParser:
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("-n", "--namespace", default="")
    common.add_argument("-o", "--output", choices=_OUTPUTS, default="text")
    for name in _PASSED_ON:
        names = [f"--{name}", *(["-s"] if name == "server" else [])]
        text = "as kubectl's" if name in _HELPED else argparse.SUPPRESS
        common.add_argument(*names, action="append", help=text, metavar="VALUE")
    for name in _SWITCHES:
        common.add_argument(
            f"--{name}", action="append_const", const="true", help=argparse.SUPPRESS
        )
    return common


def _parser() -> argparse.ArgumentParser:
    common = _common()
    parser = argparse.ArgumentParser(
        "kubectl polyplane", description="The past of objects, and what is in them."
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def add(name: str, text: str) -> argparse.ArgumentParser:
        return commands.add_parser(
            name, parents=[common], help=text, description=text, epilog=_CONNECTION
        )

    command = add("history", "who changed what: an object, or all of the namespace")
    command.add_argument("object", nargs="?", default="", metavar="KIND[/NAME]")
    command.add_argument("-l", "--selector", default="", help="labels of the objects")
    command.add_argument("--deleted", action="store_true", help="deletions alone")
    command.add_argument(
        "--limit", type=_number, default=50, help="most lines (0: all; default 50)"
    )
    command = add("diff", "what a revision changed, or what differs between two")
    command.add_argument("object", metavar="KIND/NAME")
    command.add_argument("revisions", nargs="*", metavar="REVISION")
    command = add("blame", "who gave each field its value, and when")
    command.add_argument("object", metavar="KIND/NAME")
    command.add_argument("--revision", default="", help="(default: the newest)")
    newest, deleted = "the one before the newest", "the deleted one"
    _add_restore(add("rollback", "write an old revision of an object anew"), newest)
    _add_restore(add("undelete", "bring a deleted object back"), deleted)
    _add_search(add("search", "which objects of all kinds have a text in them"))
    _add_as_of(add("as-of", "what there was at a time, as a List that kubectl can read"))
    add("reach", "how far back the history reaches")
    _add_list(add("list", "objects of one kind: filtered, sorted, counted by the server"))
    command = add("count", "how many objects there are of each kind (-n: in a namespace)")
    command.add_argument("kinds", nargs="*", metavar="KIND", help="(default: those that there are)")
    return parser


def _add_restore(command: argparse.ArgumentParser, default: str) -> None:
    command.add_argument("object", metavar="KIND/NAME")
    command.add_argument("--to-revision", default="", help=f"(default: {default})")
    command.add_argument("--dry-run", action="store_true", help="by the server")
    command.add_argument("--field-manager", default=_MANAGER)


def _add_as_of(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "moment", metavar="TIME", help="2026-01-31T14:05:00Z, or a resourceVersion"
    )
    command.add_argument("object", nargs="?", default="", metavar="KIND[/NAME]")
    command.add_argument("-l", "--selector", default="", help="labels of the objects")


def _add_list(command: argparse.ArgumentParser) -> None:
    command.add_argument("kind", metavar="KIND", help="deploy, Deployment, deployments.apps")
    command.add_argument("--filter", default="", help="CEL over self: self.spec.replicas > 2")
    command.add_argument(
        "--sort-by",
        action="append",
        default=[],
        metavar="JSONPATH",
        help=".spec.replicas, --sort-by=-.spec.replicas for the other way; may be repeated",
    )
    command.add_argument("--count", action="store_true", help="how many there are, and no more")
    command.add_argument("-l", "--selector", default="", help="labels of the objects")
    command.add_argument("--field-selector", default="", help="as kubectl's")
    command.add_argument("-A", "--all-namespaces", action="store_true")
    command.add_argument("--limit", type=_number, default=0, help="most objects (default: all)")


def _add_search(command: argparse.ArgumentParser) -> None:
    command.add_argument("text", metavar="TEXT", help="found where it begins a word")
    for name, text in (
        ("kind", "deploy, deployments.apps; may be repeated"),
        ("in", "names, labels, annotations, values; may be repeated"),
        ("tenant", "in this tenant, * for all; may be repeated (through tenant default)"),
    ):
        command.add_argument(
            f"--{name}", action="append", default=[], help=text, metavar="VALUE", dest=f"{name}s"
        )
    command.add_argument(
        "--limit", type=_number, default=50, help="most lines (0: all; default 50)"
    )


# --- what is meant --------------------------------------------------------------------------------
def _fields(text: str, **more: str) -> dict[str, str]:
    kind, _, name = text.partition("/")
    return {"object.resource": kind, "object.name": name, **more}


def _of_one(text: str, **more: str) -> dict[str, str]:
    """Raises Failed."""
    fields = _fields(text, **more)
    if not fields["object.name"]:
        raise Failed(f"{text!r} names no object: KIND/NAME")
    return fields


def _newest(tenant: Tenant, fields: dict[str, str], count: int = 1) -> Sequence[dict[str, Any]]:
    """Raises Failed where there is none."""
    revisions = tenant.list(fields, most=count)
    if not revisions:
        what = "no deletion" if fields.get("type") == "DELETED" else "nothing"
        kind, name = fields["object.resource"], fields["object.name"]
        raise Failed(f"{what} is retained of {kind}/{name}{tenant.within}")
    return revisions


def _printed(value: Any, output: str, text: str) -> str:
    if output == "json":
        return f"{json.dumps(value, indent=4, ensure_ascii=False)}\n"
    return dump(value) if output == "yaml" else text


def _list(items: Sequence[Any]) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "List", "items": list(items)}


# --- commands -------------------------------------------------------------------------------------
def _history(tenant: Tenant, asked: argparse.Namespace) -> str:
    fields = _fields(asked.object, type="DELETED" if asked.deleted else "")
    revisions = tenant.list(fields, asked.selector, asked.limit)
    text = show.history(revisions) if revisions else "nothing is retained of that\n"
    return _printed(_list(revisions), asked.output, text)


def _diff(tenant: Tenant, asked: argparse.Namespace) -> str:
    fields = _of_one(asked.object)
    (newest,) = _newest(tenant, fields)
    names = asked.revisions or [newest["metadata"]["name"]]
    if len(names) > 2:
        raise Failed("two revisions can be compared, the older one first")
    new = tenant.get(f"{tenant.revisions}/{names[-1]}")
    other = names[0] if len(names) == 2 else new.get("previous", "")
    if asked.output != "text":
        path = f"{tenant.revisions}/{names[-1]}/diff"
        return _printed(tenant.get(path, **{"from": other}), asked.output, "")
    old = tenant.get(f"{tenant.revisions}/{other}") if other else None
    return show.diff(old, new)


def _blame(tenant: Tenant, asked: argparse.Namespace) -> str:
    (newest,) = _newest(tenant, _of_one(asked.object))
    path = f"{tenant.revisions}/{asked.revision or newest['metadata']['name']}"
    told = tenant.get(f"{path}/blame")
    text = show.blame(tenant.get(path), told) if asked.output == "text" else ""
    return _printed(told, asked.output, text)


def _rollback(tenant: Tenant, asked: argparse.Namespace) -> str:
    (newest,) = _newest(tenant, _of_one(asked.object))
    name = asked.to_revision or newest.get("previous", "")
    if not name:
        raise Failed("there is nothing before the newest revision")
    return _restore(tenant, asked, name)


def _undelete(tenant: Tenant, asked: argparse.Namespace) -> str:
    fields = _of_one(asked.object, type="DELETED")
    (deleted,) = _newest(tenant, fields)
    return _restore(tenant, asked, asked.to_revision or deleted["metadata"]["name"])


def _restore(tenant: Tenant, asked: argparse.Namespace, name: str) -> str:
    body = {"apiVersion": "history.polyplane.dev/v1", "kind": "RevisionRestore"}
    answer = tenant.post(
        f"{tenant.revisions}/{name}/{asked.command}",
        body,
        fieldManager=asked.field_manager,
        dryRun="All" if asked.dry_run else "",
    )
    return _printed(answer, asked.output, show.restored(answer, asked.dry_run))


def _as_of(tenant: Tenant, asked: argparse.Namespace) -> str:
    revisions = tenant.list(_fields(asked.object, asOf=asked.moment), asked.selector)
    objects = _list([revision["object"] for revision in revisions])
    return _printed(objects, asked.output, dump(objects))


def _search(tenant: Tenant, asked: argparse.Namespace) -> str:
    spec = {"text": asked.text, "in": asked.ins, "kinds": asked.kinds, "tenants": asked.tenants}
    if asked.namespace:
        spec["namespaces"] = [asked.namespace]
    status = tenant.search({name: value for name, value in spec.items() if value}, asked.limit)
    return _printed(status, asked.output, show.found(status))


def _list_objects(tenant: Tenant, asked: argparse.Namespace) -> str:
    found = tenant.objects(
        tenant.collection(asked.kind, asked.all_namespaces),
        asked.sort_by,
        asked.limit,
        filter=asked.filter,
        labelSelector=asked.selector,
        fieldSelector=asked.field_selector,
        count="only" if asked.count else "true",
    )
    remaining = found["metadata"].get("remainingItemCount", 0)
    if asked.count:
        return _printed({"count": remaining}, asked.output, f"{remaining}\n")
    return _printed(found, asked.output, show.objects(found["items"], remaining))


def _reach(tenant: Tenant, asked: argparse.Namespace) -> str:
    log = tenant.get(f"{ROOT}/retainedlogs/log")
    return _printed(log, asked.output, show.reach(log))


def _count(tenant: Tenant, asked: argparse.Namespace) -> str:
    status = tenant.count(asked.kinds, asked.namespace)
    text = show.counts(status, asked.namespace, empty=bool(asked.kinds))
    return _printed(status, asked.output, text)


_COMMANDS = {
    "history": _history,
    "diff": _diff,
    "blame": _blame,
    "rollback": _rollback,
    "undelete": _undelete,
    "as-of": _as_of,
    "reach": _reach,
    "search": _search,
    "list": _list_objects,
    "count": _count,
}
