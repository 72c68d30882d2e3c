from tests.support.storage import store, tenant

__all__ = ["store", "tenant"]
