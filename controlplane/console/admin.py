"""Django finds the console's pages here."""

from controlplane.console import storedobjects, tenants

__all__ = ["storedobjects", "tenants"]
