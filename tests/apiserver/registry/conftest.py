from tests.support.fixtures import api, store, tenant

__all__ = ["api", "store", "tenant"]
