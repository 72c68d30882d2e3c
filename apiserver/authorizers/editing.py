"""What an editor of all tenants may do: in each, what its ClusterRole ``edit`` allows, as if a
ClusterRoleBinding gave it, aggregated rules for custom resources included.

Less what would make him somebody else, or let him give rights: a tenant's owner writes ``edit``
there, but nobody's role in the installation is his to widen. Not his are therefore

- Secrets and tokens of service accounts, and to impersonate: each is the rights of any service
  account of the tenant, which may be all;
- every verb but those of reading and writing (``escalate``, ``bind``, ``approve``, ``sign``, ...);
- to write RBAC, or how tenants are declared;
- URLs that are no resources.
"""

from __future__ import annotations

from apiserver.authz.attributes import READING, WRITING, Attributes, Decision
from apiserver.authz.rbac import GROUP, Reader
from apiserver.authz.rules import rule_allows
from apiserver.platformroles import EDITORS
from apiserver.request import TENANCY_GROUP

_ROLE = "edit"
_EDITING = Decision(
    True, f'the ClusterRole "{_ROLE}" allows it to the role {EDITORS}', authorizer=EDITORS
)


def _is_an_editors(attributes: Attributes) -> bool:
    """Whatever the tenant's role says."""
    if not attributes.is_resource or "*" in (attributes.group, attributes.resource):
        return False
    if attributes.verb not in READING | WRITING:
        return False
    if attributes.group == "" and (
        attributes.resource == "secrets" or attributes.full_resource == "serviceaccounts/token"
    ):
        return False
    return attributes.verb in READING or attributes.group not in (GROUP, TENANCY_GROUP)


async def edits(attributes: Attributes, reader: Reader) -> Decision | None:
    """The yes; None where it is not an editor's to do. reader: of the tenant."""
    if not _is_an_editors(attributes):
        return None
    role = await reader.cluster_role(_ROLE)
    rules = (role or {}).get("rules") or ()
    return _EDITING if any(rule_allows(rule, attributes) for rule in rules) else None
