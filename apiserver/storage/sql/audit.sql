-- The audit log beside the commit: entries of what made no version, and the days that are kept.

-- Many entries in one statement; the arrays hold one each at the same place, as in
-- audit_tables.sql. They may be of any tenants (p_tenant: NULL for none); what the caller's
-- transaction sees of them afterwards is what it saw before.
CREATE OR REPLACE FUNCTION pp_audit(
    p_tenant bigint[], p_at timestamptz[], p_user text[], p_verb text[], p_code bigint[],
    p_group text[], p_resource text[], p_namespace text[], p_name text[], p_data text[]
) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_seen text := coalesce(current_setting('polyplane.tenant', true), '');
BEGIN
    PERFORM set_config('polyplane.tenant', 'all', true);
    INSERT INTO audit_entries (
        tenant_id, at, resource_version, user_name, verb, code, api_group, resource, namespace,
        name, data
    ) SELECT t, a, 0, u, v, c, g, r, s, n, d::json
        FROM unnest(
            p_tenant, p_at, p_user, p_verb, p_code, p_group, p_resource, p_namespace, p_name, p_data
        ) AS entry (t, a, u, v, c, g, r, s, n, d);
    PERFORM set_config('polyplane.tenant', v_seen, true);
END
$$;

-- Makes the partitions of today and of p_ahead days, drops those that ended more than p_days days
-- ago (less than 1: none), and says which: (name, made or dropped). A partition is a day in UTC.
-- Waits for readers of the table (a dump) for a moment only, because all commits wait behind it,
-- and gives up: lock_not_available, to be tried again.
--
-- SECURITY DEFINER: the workers' role makes and drops no tables (tenants.sql says more). So whoever
-- has that role drops no entry of today and yesterday by this.
CREATE OR REPLACE FUNCTION pp_keep_audit(p_days integer, p_ahead integer)
RETURNS TABLE (partition text, done text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    v_today date := (now() AT TIME ZONE 'UTC')::date;
    v_day date;
BEGIN
    PERFORM pg_advisory_xact_lock(5787, 0);  -- one at a time
    PERFORM set_config('lock_timeout', '200ms', true);
    PERFORM set_config('polyplane.tenant', 'all', true);
    FOR i IN 0 .. p_ahead LOOP
        v_day := v_today + i;
        partition := 'audit_entries_' || to_char(v_day, 'YYYYMMDD');
        -- What came before its partition stays where it is, and goes with its day from there.
        IF to_regclass(partition) IS NULL AND NOT EXISTS (
            SELECT 1 FROM audit_entries o
            WHERE o.at >= v_day::timestamp AT TIME ZONE 'UTC'
                AND o.at < (v_day + 1)::timestamp AT TIME ZONE 'UTC'
        ) THEN
            EXECUTE format(
                'CREATE TABLE %I PARTITION OF audit_entries FOR VALUES FROM (%L) TO (%L)',
                partition, v_day::timestamp AT TIME ZONE 'UTC',
                (v_day + 1)::timestamp AT TIME ZONE 'UTC'
            );
            EXECUTE format(
                'ALTER TABLE %I ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY', partition
            );
            done := 'made';
            RETURN NEXT;
        END IF;
    END LOOP;
    IF p_days < 1 THEN
        RETURN;
    END IF;
    v_day := v_today - p_days;
    FOR partition IN
        SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
        WHERE i.inhparent = 'audit_entries'::regclass AND c.relname ~ '^audit_entries_\d{8}$'
            AND to_date(right(c.relname, 8), 'YYYYMMDD') < v_day
        ORDER BY 1
    LOOP
        EXECUTE format('DROP TABLE %I', partition);
        done := 'dropped';
        RETURN NEXT;
    END LOOP;
    DELETE FROM audit_entries a WHERE a.at < v_day::timestamp AT TIME ZONE 'UTC';
END
$$;
