"""manage.py why: why somebody may do something in a tenant, or may not, by which rule and binding;
and whether what audit entries tell would be decided in the same way today."""

from __future__ import annotations

import asyncio
import json
import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, connections

from apiserver.meta.objects import Object
from apiserver.storage.errors import StorageError
from apiserver.user import (
    ANONYMOUS,
    UNAUTHENTICATED,
    User,
    authenticated,
    service_account_groups,
    split_service_account,
)
from controlplane.errors import OperatorError
from controlplane.management.output import PolyplaneCommand, add_output, visible
from controlplane.tenancy import service

if TYPE_CHECKING:  # all kinds, and a second with them: loaded when there is something to do
    from apiserver.authz.attributes import Attributes
    from apiserver.registry.scope import Tenant

_WHAT = "RESOURCE[.GROUP][/SUBRESOURCE]|/PATH"


class Command(PolyplaneCommand):
    help = (
        "Say whether somebody may do something in a tenant, and by which rule of which role and "
        "binding; where not, which of their rules come nearest. Asks the authorizers that the "
        "server asks. Exit code 1 if the answer is no, as of `kubectl auth can-i`; of --entries "
        "it is 0, whatever they say."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        user = "alice, or system:serviceaccount:NAMESPACE:NAME"
        verb = "get, list, create, delete ...; of a path: get, post ..."
        parser.add_argument("user", nargs="?", default="", help=user)
        parser.add_argument("verb", nargs="?", default="", help=verb)
        what = "deployments.apps, pods/log, /metrics"
        parser.add_argument("what", nargs="?", default="", metavar=_WHAT, help=what)
        parser.add_argument("name", nargs="?", default="", help="of one object")
        parser.add_argument("--tenant", default="default")
        parser.add_argument("-n", "--namespace", default="", help="without: at the cluster scope")
        parser.add_argument(
            "--group",
            action="append",
            default=[],
            help="a group that the user is in, beside those that come with the name; repeatable",
        )
        parser.add_argument(
            "--entries",
            default="",
            metavar="FILE",
            help="instead: whether what audit entries tell would be decided in the same way today; "
            'as `manage.py audit -o json` prints them, "-" for standard input',
        )
        add_output(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        if options["entries"]:
            if options["user"]:
                raise OperatorError("--entries says whom it is about.", "leave the USER out.")
            again = _again(options["entries"])
            if not again:
                self.stderr.write("there are no entries to ask about")
            self.print(options, again, lambda: "\n".join(visible(_told(one)) for one in again))
            return
        if not options["what"]:
            raise OperatorError("Who may do what?", f"give USER, VERB and {_WHAT}, or --entries.")
        tenant, question = _tenant(options["tenant"]), _question(options)
        if warning := _unserved(tenant, question):
            self.stderr.write(visible(warning))
        (status,) = [status for status, _ in _answers([(tenant, question)])]
        document = {"tenant": tenant.name, "user": question.user.name, **status}
        self.print(options, document, lambda: "\n".join(_lines(question, status)))
        if not status["allowed"]:
            sys.exit(1)


def _tenant(name: str) -> Tenant:
    from apiserver.registry.scope import Tenant

    row = service.get_tenant(name)
    return Tenant(row.pk, row.name)


def _again(name: str) -> list[dict[str, Any]]:
    """Of each entry: what was decided then (`recorded`), what now, and whether that is the same; or
    why it cannot be asked again."""
    from apiserver.audit import replay
    from apiserver.authz.reviews import attributes_of, subject_of
    from apiserver.request import TENANT_KEY

    told: list[dict[str, Any]] = []
    questions: list[tuple[Tenant, Attributes]] = []
    for event in _events(name):
        one = {"auditID": event.get("auditID", ""), "recorded": replay.recorded(event)}
        told.append(one)
        try:
            one["spec"] = spec = replay.spec_of(event)
            tenant = _tenant(event["annotations"].get(TENANT_KEY, ""))
            questions.append((tenant, attributes_of(subject_of(spec), spec)[0]))
            one["tenant"] = tenant.name
        except (replay.NoQuestion, OperatorError) as error:
            one["problem"] = str(error)
    answers = iter(_answers(questions) if questions else ())
    for one in told:
        if "problem" not in one:
            one["status"], one["decided"] = next(answers)
            one["same"] = one["decided"] == one["recorded"]
    return told


def _events(name: str) -> list[Object]:
    """Raises OperatorError."""
    try:
        text = sys.stdin.read() if name == "-" else Path(name).read_text()
        if not text.strip():
            where = "Standard input" if name == "-" else name
            raise OperatorError(
                f"{where} holds no audit entries: it is empty.", "`manage.py audit -o json`."
            )
        found = json.loads(text)
    except (OSError, ValueError, RecursionError) as error:
        raise OperatorError(f"{name} cannot be read: {error}.", "name a file of JSON.") from error
    events = found if isinstance(found, list) else [found]
    if not all(isinstance(event, dict) and event.get("kind") == "Event" for event in events):
        raise OperatorError(f"{name} holds no audit entries.", "`manage.py audit -o json`.")
    return events


def _told(one: dict[str, Any]) -> str:
    if "problem" in one:
        return f"{one['auditID']}: cannot be asked again: {one['problem']}"
    if one["same"]:
        return f"{one['auditID']}: the same: {_short(one['recorded'])}"
    return f"{one['auditID']}: then {_short(one['recorded'])}; now {_short(one['decided'])}"


def _short(notes: dict[str, str]) -> str:
    return ", ".join(notes.values()) or "an error"


def _answers(
    questions: Sequence[tuple[Tenant, Attributes]],
) -> list[tuple[Object, dict[str, str]]]:
    """Of each: the status of its AccessExplanation, and what an audit entry would say. Raises
    OperatorError."""
    connections[DEFAULT_DB_ALIAS].close()  # the registry has its own
    try:
        return asyncio.run(_ask(questions))
    except StorageError as error:
        raise OperatorError(f"The database failed: {error}.", "look at its log.") from error


def _question(options: dict[str, Any]) -> Attributes:
    from apiserver.authz.attributes import Attributes

    what, user = options["what"], _user(options["user"], options["group"])
    if what.startswith("/"):
        if options["name"] or options["namespace"]:
            raise OperatorError(f"{what} is a path.", "leave NAME and --namespace out.")
        return Attributes(user, options["verb"], path=what, is_resource=False)
    full, _, subresource = what.partition("/")
    resource, _, group = full.partition(".")
    return Attributes(
        user,
        options["verb"],
        group=group,
        version="*",
        resource=resource,
        subresource=subresource,
        namespace=options["namespace"],
        name=options["name"],
    )


def _unserved(tenant: Tenant, question: Attributes) -> str:
    """What to say beside the answer: rules may name anything, but few who ask mean that."""
    from apiserver.meta.gvk import GroupResource
    from controlplane.management.resources import of_tenant

    about = GroupResource(question.group, question.resource)
    if not question.is_resource or "*" in about:
        return ""
    known = of_tenant(tenant.id)
    if known.serves(about):
        return ""
    near = known.near(str(about))
    return (
        f'warning: tenant "{tenant.name}" serves no resource "{about}"; the rules were asked '
        f"for that all the same. {near[0].upper()}{near[1:]}"
    )


def _user(name: str, groups: list[str]) -> User:
    """As it would send the request."""
    if name == ANONYMOUS:
        return User(name, groups=(*groups, UNAUTHENTICATED))
    account = split_service_account(name)
    own = service_account_groups(account[0]) if account is not None else ()
    return User(name, groups=authenticated((*own, *groups), name))


async def _ask(
    questions: Sequence[tuple[Tenant, Attributes]],
) -> list[tuple[Object, dict[str, str]]]:
    from apiserver.audit.replay import notes_of
    from apiserver.authz.explanations import explained
    from apiserver.authz.reviews import status_of
    from apiserver.registry.authorizer import TenantAuthorizer
    from apiserver.registry.seeding import Seeder
    from controlplane.wiring import open_registry

    answers = []
    async with open_registry() as (registry, _):
        seeder = Seeder(registry, settings.POLYPLANE_PORT)
        for tenant, question in questions:
            await seeder.ensure(tenant)  # as the first request does
            explanation = await TenantAuthorizer(registry).explain(tenant, question)
            notes = {key: text for key, text in notes_of(explanation.decision).items() if text}
            status = status_of(explanation.decision, ()) | explained(explanation)
            answers.append((status, notes))
    return answers


def _lines(question: Attributes, status: Object) -> list[str]:
    from apiserver.authz.attributes import forbidden_message

    if status["allowed"]:
        lines = [f"yes: {status.get('reason') or _by(status)}"]
    else:
        lines = [f"no: {forbidden_message(question)}"]
        lines += [f"  {status[key]}" for key in ("reason", "evaluationError") if key in status]
        if status.get("authorizer"):
            lines.append(f"  {_by(status)}")
    if grant := status.get("grant"):
        lines.append(f"  {_grant(grant)}")
    if misses := status.get("nearMisses"):
        lines.append("  rules that come near:")
        lines += [f"    lacks {', '.join(m['lacking'])}: {_grant(m)}" for m in misses]
    lines += [f"  not there: {role}" for role in status.get("unresolved") or ()]
    if status.get("incomplete"):
        lines.append("  the user holds more rules than were looked at")
    return [visible(line) for line in lines]


def _by(status: Object) -> str:
    return f"decided by {status.get('authorizer')}"


def _grant(grant: Object) -> str:
    from apiserver.authz.rules import compact_string

    rule = f"rule {grant['ruleIndex']} {compact_string(grant['rule'])}"
    return f"{rule} of {_source(grant['role'])} by {_source(grant['binding'])}"


def _source(source: Object) -> str:
    namespace = source.get("namespace")
    return f"{source['kind']} {f'{namespace}/' if namespace else ''}{source['name']}"
