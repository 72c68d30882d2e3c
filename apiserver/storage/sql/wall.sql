-- The second wall between tenants, for one table with a column tenant_id ({table} is filled in).
--
-- A transaction sees and changes the rows of the tenant that it names in polyplane.tenant, all rows
-- when it says 'all', and none when it says nothing (apiserver/storage/visibility.py). FORCE binds
-- the owner of the table, too, since a DATABASE_URL alone is owner and worker in one.
ALTER TABLE {table} ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_wall ON {table} USING (
    current_setting('polyplane.tenant', true) = tenant_id::text
    OR current_setting('polyplane.tenant', true) = 'all'
);
