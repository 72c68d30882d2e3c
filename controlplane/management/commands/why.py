"""manage.py why: why somebody may do something in a tenant, or may not, by which rule and
binding."""

from __future__ import annotations

import asyncio
from argparse import ArgumentParser
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
        "server asks."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("user", help="alice, or system:serviceaccount:NAMESPACE:NAME")
        parser.add_argument("verb", help="get, list, create, delete ...; of a path: get, post ...")
        parser.add_argument("what", metavar=_WHAT, help="deployments.apps, pods/log, /metrics")
        parser.add_argument("name", nargs="?", default="", help="of one object")
        parser.add_argument("--tenant", default="default")
        parser.add_argument("-n", "--namespace", default="", help="without: at the cluster scope")
        parser.add_argument(
            "--group",
            action="append",
            default=[],
            help="a group that the user is in, beside those that come with the name; repeatable",
        )
        add_output(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        from apiserver.registry.scope import Tenant

        row = service.get_tenant(options["tenant"])
        connections[DEFAULT_DB_ALIAS].close()  # the registry has its own
        question = _question(options)
        try:
            status = asyncio.run(_ask(Tenant(row.pk, row.name), question))
        except StorageError as error:
            raise OperatorError(f"The database failed: {error}.", "look at its log.") from error
        document = {"tenant": row.name, "user": question.user.name, **status}
        self.print(options, document, lambda: "\n".join(_lines(question, status)))


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


def _user(name: str, groups: list[str]) -> User:
    """As it would send the request."""
    if name == ANONYMOUS:
        return User(name, groups=(*groups, UNAUTHENTICATED))
    account = split_service_account(name)
    own = service_account_groups(account[0]) if account is not None else ()
    return User(name, groups=authenticated((*own, *groups)))


async def _ask(tenant: Tenant, question: Attributes) -> Object:
    from apiserver.authz.explanations import explained
    from apiserver.authz.reviews import status_of
    from apiserver.registry.authorizer import TenantAuthorizer
    from apiserver.registry.seeding import Seeder
    from controlplane.wiring import open_registry

    async with open_registry() as (registry, _):
        await Seeder(registry, settings.POLYPLANE_PORT).ensure(tenant)  # as the first request does
        explanation = await TenantAuthorizer(registry).explain(tenant, question)
    return status_of(explanation.decision, ()) | explained(explanation)


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
