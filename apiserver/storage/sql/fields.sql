-- The indexes of fields that tenants declare (models.FieldIndex): which objects of a resource have
-- which value there (models.FieldEntry), up to which version of the tenant's log. They are filled
-- beside the commits (apiserver/search/fieldindexer.py), which know nothing of them.
--
-- ``place`` is an object's namespace and "/", which with the name is the order of keys.

-- Makes the declared indexes of a tenant those given. ``built``: whether an index is true of all
-- that had been written when it was declared.
CREATE OR REPLACE FUNCTION pp_declare_fields(
    p_tenant bigint, p_groups text[], p_resources text[], p_paths text[]
) RETURNS TABLE (api_group text, resource text, path text, built boolean)
LANGUAGE plpgsql AS $$
DECLARE
    v_head bigint;
BEGIN
    PERFORM set_config('polyplane.tenant', p_tenant::text, true);
    SELECT h.head INTO v_head FROM tenant_heads h WHERE h.tenant_id = p_tenant FOR KEY SHARE;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    DELETE FROM field_indexes i WHERE i.tenant_id = p_tenant AND NOT EXISTS (
        SELECT 1 FROM unnest(p_groups, p_resources, p_paths) AS w (g, r, p)
        WHERE (i.api_group, i.resource, i.path) = (w.g, w.r, w.p)
    );
    INSERT INTO field_indexes (tenant_id, api_group, resource, path, declared, indexed)
        SELECT DISTINCT p_tenant, w.g, w.r, w.p, v_head, 0
        FROM unnest(p_groups, p_resources, p_paths) AS w (g, r, p)
        ON CONFLICT DO NOTHING;
    RETURN QUERY SELECT i.api_group, i.resource, i.path, i.indexed >= i.declared
        FROM field_indexes i WHERE i.tenant_id = p_tenant;
END
$$;

-- Removes up to p_limit entries of indexes that nobody declares any more; says how many. Looks at
-- one entry of each index.
CREATE OR REPLACE FUNCTION pp_forget_fields(p_tenant bigint, p_limit bigint)
RETURNS TABLE (gone bigint)
LANGUAGE plpgsql AS $$
DECLARE
    v_index bigint := 0;
BEGIN
    PERFORM set_config('polyplane.tenant', p_tenant::text, true);
    gone := 0;
    LOOP
        SELECT min(e.index_id) INTO v_index FROM field_entries e
            WHERE e.tenant_id = p_tenant AND e.index_id > v_index;
        EXIT WHEN v_index IS NULL;
        CONTINUE WHEN EXISTS (SELECT 1 FROM field_indexes i WHERE i.id = v_index);
        DELETE FROM field_entries e WHERE e.ctid = ANY (ARRAY(
            SELECT f.ctid FROM field_entries f
            WHERE f.tenant_id = p_tenant AND f.index_id = v_index LIMIT p_limit
        ));
        GET DIAGNOSTICS gone = ROW_COUNT;
        EXIT;
    END LOOP;
    RETURN NEXT;
END
$$;

-- Makes an index true up to p_through: the values of the objects named; NULL where an object has
-- none or may be gone. False, and nothing done, if the index does not stand at p_after (any more):
-- somebody else was faster, or it is not declared any more, or the tenant is gone.
--
-- KEY SHARE: the deletion of the tenant waits for this, and commits do not.
CREATE OR REPLACE FUNCTION pp_index_field(
    p_tenant bigint, p_index bigint, p_after bigint, p_through bigint,
    p_places text[], p_names text[], p_values text[]
) RETURNS TABLE (done boolean)
LANGUAGE plpgsql AS $$
DECLARE
    v_floor bigint;
BEGIN
    PERFORM set_config('polyplane.tenant', p_tenant::text, true);
    SELECT h.floor INTO v_floor FROM tenant_heads h WHERE h.tenant_id = p_tenant FOR KEY SHARE;
    UPDATE field_indexes i SET indexed = p_through
        WHERE i.id = p_index AND i.tenant_id = p_tenant AND i.indexed = p_after
            AND v_floor IS NOT NULL;
    done := FOUND;
    RETURN NEXT;
    IF NOT done THEN
        RETURN;
    END IF;
    INSERT INTO field_entries AS e (tenant_id, index_id, place, name, value)
        SELECT p_tenant, p_index, w.place, w.name, w.value
        FROM unnest(p_places, p_names, p_values) AS w (place, name, value)
        WHERE w.value IS NOT NULL
        ON CONFLICT (tenant_id, index_id, place, name)
            DO UPDATE SET value = excluded.value WHERE e.value <> excluded.value;
    DELETE FROM field_entries e
        USING unnest(p_places, p_names, p_values) AS w (place, name, value)
        WHERE e.tenant_id = p_tenant AND e.index_id = p_index AND e.place = w.place
            AND e.name = w.name AND w.value IS NULL;
    -- What was deleted while nobody looked is in the log no more.
    IF p_after BETWEEN 1 AND v_floor - 1 THEN
        DELETE FROM field_entries e USING field_indexes i
            WHERE e.tenant_id = p_tenant AND e.index_id = p_index AND i.id = p_index
                AND NOT EXISTS (
                    SELECT 1 FROM objects o WHERE o.tenant_id = p_tenant
                        AND o.api_group = i.api_group AND o.resource = i.resource
                        AND o.namespace = rtrim(e.place, '/') AND o.name = e.name
                );
    END IF;
END
$$;

-- Objects of a resource, in the order of keys above (p_after_place, p_after_name), of which at the
-- version p_at one of these values may stand at the path: what the index says, and all that was
-- written after the older of p_at and the index. Before them a row of NULLs; nothing at all where
-- there is no such index, or more than p_most_since entries of the log to look at. ``cut``: the
-- index has more behind this one.
--
-- STABLE, because the index and the log must be of one snapshot. SECURITY DEFINER for the index, as
-- pp_claimed (claims.sql): to compare texts is not leakproof.
CREATE OR REPLACE FUNCTION pp_field_candidates(
    p_tenant bigint, p_group text, p_resource text, p_path text, p_values text[], p_place text,
    p_after_place text, p_after_name text, p_at bigint, p_most_since bigint, p_most bigint
) RETURNS TABLE (place text, name text, cut boolean)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    v_index bigint;
    v_indexed bigint;
    v_since bigint;
BEGIN
    PERFORM set_config('polyplane.tenant', p_tenant::text, true);
    SELECT i.id, i.indexed INTO v_index, v_indexed FROM field_indexes i
        WHERE i.tenant_id = p_tenant AND i.api_group = p_group AND i.resource = p_resource
            AND i.path = p_path;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    SELECT count(*) INTO v_since FROM (
        SELECT 1 FROM events e
        WHERE e.tenant_id = p_tenant AND e.resource_version > least(p_at, v_indexed)
        LIMIT p_most_since + 1
    ) AS written;
    IF v_since > p_most_since THEN
        RETURN;
    END IF;
    RETURN NEXT;
    RETURN QUERY SELECT DISTINCT e.namespace || '/', e.name, false FROM events e
        WHERE e.tenant_id = p_tenant AND e.resource_version > least(p_at, v_indexed)
            AND e.api_group = p_group AND e.resource = p_resource;
    RETURN QUERY SELECT f.place, f.name, row_number() OVER () > p_most FROM (
        SELECT e.place, e.name FROM field_entries e
        WHERE e.tenant_id = p_tenant AND e.index_id = v_index AND e.value = ANY (p_values)
            AND (p_place = '/' OR e.place = p_place)
            AND (e.place, e.name) > (p_after_place, p_after_name)
        ORDER BY e.place, e.name LIMIT p_most + 1
    ) AS f;
END
$$;
