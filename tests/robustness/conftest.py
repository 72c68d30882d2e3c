from tests.support.fixtures import store

__all__ = ["store"]
