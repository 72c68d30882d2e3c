"""Functions that expressions may call, one module a library: signatures with their
implementations."""
