"""The past of objects, as an API: history.polyplane.dev/v1.

Every version of every object stands in its tenant's log (`apiserver.storage.history`), and who
wrote it stands beside it in the audit log. Nothing here is stored: a Revision is a view of one
entry of the log.

- `visit`: one request's way to the past: what the user may see, objects in the version asked for.
- `question`: which revisions a list wants. `listing` finds them, `revisions` puts them into words.
- `leaves`, `blame`, `changes`: fields with their paths; who gave each its value; what differs.
- `reach`: how far back the log reaches.
- `restore`: rollback and undelete, which are ordinary writes.

What is promised to whom: docs/decisions/0012-history-as-a-view-of-the-log.md.
"""
