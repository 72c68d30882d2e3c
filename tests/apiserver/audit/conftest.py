from tests.support.fixtures import store, tenant

__all__ = ["store", "tenant"]
