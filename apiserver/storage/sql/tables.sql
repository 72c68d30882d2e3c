-- What Django's models cannot say about the tables.

-- Above which later tenants start: a name that is deleted and made again never sees a version twice
-- (tenants.sql).
CREATE SEQUENCE pp_rv_base START WITH 1;

-- Each commit changes its tenant's head, at the same place of the same page: room for many copies
-- within the page, and a vacuum after so many dead ones, however large the table is.
ALTER TABLE tenant_heads SET (
    fillfactor = 20, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000
);

-- Room for an update beside the row that it replaces, without touching an index.
ALTER TABLE objects SET (fillfactor = 85);
