from tests.support.fixtures import runner, shared_store, store, tenant

__all__ = ["runner", "shared_store", "store", "tenant"]
