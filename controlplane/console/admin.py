"""Django finds the console's pages here."""

from controlplane.console import auditentries, storedobjects, tenants

__all__ = ["auditentries", "storedobjects", "tenants"]
