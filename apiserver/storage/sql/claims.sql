-- What pp_commit (commit.sql) asks about the lists that it is given.

-- A JSON array of strings as text[], none (NULL) as the empty array. SQL and not PL/pgSQL: the
-- planner inlines it, and the common case, NULL, costs nothing.
CREATE OR REPLACE FUNCTION pp_words(p_list text) RETURNS text[] LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE
        WHEN p_list IS NULL THEN '{}'::text[]
        ELSE ARRAY(SELECT json_array_elements_text(p_list::json))
    END
$$;

-- Whether another object than the one named holds one of the claims: values that one object at a
-- time may hold within a tenant (cluster IPs, node ports), written <tenant>/<value>, so that one
-- index over all tenants finds them.
--
-- SECURITY DEFINER, as the owner of the tables: PostgreSQL's array operators are not leakproof, so
-- below a policy the index would not be used, and each of the tenant's objects would be looked at.
-- Repeating the index's condition (claims <> '{}') lets the planner use that partial index.
CREATE OR REPLACE FUNCTION pp_claimed(
    p_tenant bigint, p_claims text[], p_group text, p_resource text, p_namespace text, p_name text
) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
    RETURN EXISTS (
        SELECT 1 FROM objects o
        WHERE o.tenant_id = p_tenant AND o.claims && p_claims AND o.claims <> '{}'
            AND (o.api_group, o.resource, o.namespace, o.name)
                <> (p_group, p_resource, p_namespace, p_name)
    );
END
$$;
