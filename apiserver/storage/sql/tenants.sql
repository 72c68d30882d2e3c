-- A tenant's place in storage: its sequence and its head (apiserver/storage/tenants.py).
--
-- SECURITY DEFINER: sequences are made, moved and dropped by the owner of the tables, which the
-- workers' role is not. The path is pinned (`FROM CURRENT` takes what sql/__init__.py has set, the
-- tables' schema): what a caller's path says may not choose what the owner's rights act upon.
-- Default privileges let the workers' role draw from sequences to come (controlplane/roles.py).

-- Harmless when the tenant is there.
CREATE OR REPLACE FUNCTION pp_create_tenant(p_tenant bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    v_start bigint;
BEGIN
    PERFORM pg_advisory_xact_lock(5786, hashint8(p_tenant));
    PERFORM set_config('polyplane.tenant', p_tenant::text, true);
    IF EXISTS (SELECT 1 FROM tenant_heads h WHERE h.tenant_id = p_tenant) THEN
        RETURN;
    END IF;
    SELECT last_value INTO v_start FROM pp_rv_base;
    EXECUTE format(
        'CREATE SEQUENCE IF NOT EXISTS %I START WITH %s', 'pp_rv_' || p_tenant, v_start + 1
    );
    INSERT INTO tenant_heads (tenant_id, head, floor, compacted, object_count, bytes)
        VALUES (p_tenant, v_start, v_start, v_start, 0, 0);
END
$$;

-- The first step of a deletion: from its commit on nobody reads or writes the tenant (without a
-- head there is none), so nobody sees the rest go piece by piece. Harmless when it is done already.
--
-- The base rises above the tenant's head: whoever holds a version of it finds it below the floor of
-- the next tenant of that name (410), and is never served another object in its place.
CREATE OR REPLACE FUNCTION pp_close_tenant(p_tenant bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    v_head bigint;
BEGIN
    PERFORM pg_advisory_xact_lock(5786, hashint8(p_tenant));
    PERFORM set_config('polyplane.tenant', p_tenant::text, true);
    DELETE FROM tenant_heads h WHERE h.tenant_id = p_tenant RETURNING h.head INTO v_head;
    IF FOUND THEN
        PERFORM setval('pp_rv_base', greatest(last_value, v_head + 1)) FROM pp_rv_base;
    END IF;
END
$$;

-- All that is left of it.
CREATE OR REPLACE FUNCTION pp_drop_tenant(p_tenant bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
    PERFORM pp_close_tenant(p_tenant);
    DELETE FROM bound_subjects b WHERE b.tenant_id = p_tenant;
    DELETE FROM objects o WHERE o.tenant_id = p_tenant;
    DELETE FROM events e WHERE e.tenant_id = p_tenant;
    DELETE FROM search_entries s WHERE s.tenant_id = p_tenant;
    DELETE FROM search_heads s WHERE s.tenant_id = p_tenant;
    DELETE FROM field_indexes f WHERE f.tenant_id = p_tenant;
    DELETE FROM field_entries f WHERE f.tenant_id = p_tenant;
    DELETE FROM tallies t WHERE t.tenant_id = p_tenant;
    DELETE FROM tally_heads t WHERE t.tenant_id = p_tenant;
    EXECUTE format('DROP SEQUENCE IF EXISTS %I', 'pp_rv_' || p_tenant);
END
$$;

-- After a restore or promotion: moves head and floor p_by above all that was drawn, and above
-- p_above. The sequence is asked, too: it may stand above the last committed version.
CREATE OR REPLACE FUNCTION pp_bump_tenant(p_tenant bigint, p_above bigint, p_by bigint)
RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    v_head bigint;
BEGIN
    PERFORM pg_advisory_xact_lock(5786, hashint8(p_tenant));
    PERFORM set_config('polyplane.tenant', p_tenant::text, true);
    SELECT h.head INTO STRICT v_head FROM tenant_heads h WHERE h.tenant_id = p_tenant;
    v_head := setval(
        'pp_rv_' || p_tenant, greatest(v_head, nextval('pp_rv_' || p_tenant), p_above) + p_by
    );
    UPDATE tenant_heads h SET head = v_head, floor = v_head WHERE h.tenant_id = p_tenant;
    RETURN v_head;
END
$$;
