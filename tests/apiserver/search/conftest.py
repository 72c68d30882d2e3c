"""A tenant that is searched, and how it is asked."""

from tests.support.fixtures import api, runner, shared_store, store, tenant

__all__ = ["api", "runner", "shared_store", "store", "tenant"]
