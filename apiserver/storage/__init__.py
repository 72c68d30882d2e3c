"""Objects and their log in PostgreSQL. `interface` is the contract; nothing else knows SQL.

`postgres` puts the store together of `reader`, `writer` (group commit; `commit` is one batch,
`resolve` what became of one whose answer was lost), `heads` and `hints`. `compact` removes what is
older than a tenant's retention (`compact.RETENTION`), `tenants` makes and drops a tenant's place,
`relations` answers controllers' questions, `leases` says which process does what all need once,
`visibility` is row-level security seen from here. `pool` makes psycopg's errors those of `errors`.
"""
