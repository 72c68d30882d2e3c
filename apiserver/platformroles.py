"""Who may do what with the installation as a whole, apart from any tenant's RBAC.

A role is a group of console accounts (`controlplane.accounts`). An API user has those of the
account that its uid names, if its token is good in all tenants: only an operator makes such a
token. Its name is of no account: somebody else may come to have it.
"""

from __future__ import annotations

from apiserver.user import MASTERS, User

TENANT_ADMINS = "polyplane:tenant-admins"
VIEWERS = "polyplane:viewers"
LOOKING = "polyplane:looking"
"""What requests by the console hold whose account is in `VIEWERS`; nobody is given it otherwise."""
EDITORS = "polyplane:editors"
METRICS_READERS = "polyplane:metrics-readers"
ROLES = {
    TENANT_ADMINS: "may create, change and delete tenants",
    VIEWERS: "may look at all tenants' objects, the audit log, tokens and sessions in the console",
    EDITORS: "may do in every tenant what its ClusterRole edit allows, but for Secrets and tokens",
    METRICS_READERS: "may read /metrics of the whole installation",
}
"""What each is for."""


def holds(user: User, role: str) -> bool:
    """An operator in system:masters, whose token is good in all tenants, holds every role."""
    return role in user.platform or (user.everywhere and MASTERS in user.groups)
