"""`pp_commit`: the one way in which objects change, and what the tables need for it.

One call is one transaction is one batch of one tenant. The advisory lock makes the order of values the order of commits: a sequence alone
lets readers see 12 before 11. Everything is checked under the lock, so no row lock is needed, and nextval is drawn when nothing can fail
any more. A write that is refused leaves no trace and does not disturb its neighbours.
"""

from django.db import migrations

COMMIT = """
CREATE FUNCTION pp_commit(
    p_tenant bigint, p_operation text[], p_group text[], p_resource text[], p_namespace text[], p_name text[], p_uid text[],
    p_data text[], p_expected bigint[], p_owners text[], p_finalizers text[], p_deleting boolean[]
) RETURNS TABLE (status text, version bigint, before bigint, current bigint)
LANGUAGE plpgsql AS $$
DECLARE
    v_head tenant_heads%ROWTYPE;
    v_last bigint;
    v_object_count bigint;
    v_bytes bigint;
    v_size integer;
    v_old_size integer;
    v_now timestamptz;
    v_sequence regclass;
BEGIN
    PERFORM pg_advisory_xact_lock(5786, hashint8(p_tenant));
    SELECT * INTO v_head FROM tenant_heads h WHERE h.tenant_id = p_tenant;
    IF NOT FOUND THEN
        RETURN QUERY SELECT 'gone', 0::bigint, 0::bigint, 0::bigint FROM generate_subscripts(p_operation, 1);
        RETURN;
    END IF;
    v_sequence := ('pp_rv_' || p_tenant)::regclass;
    v_last := v_head.head;
    v_object_count := v_head.object_count;
    v_bytes := v_head.bytes;
    v_now := clock_timestamp();
    FOR i IN 1 .. array_length(p_operation, 1) LOOP
        version := 0;
        before := v_last;
        v_size := octet_length(p_data[i]);
        SELECT o.resource_version, o.size INTO current, v_old_size FROM objects o
            WHERE o.tenant_id = p_tenant AND o.api_group = p_group[i] AND o.resource = p_resource[i]
            AND o.namespace = p_namespace[i] AND o.name = p_name[i];
        current := coalesce(current, 0);
        v_old_size := coalesce(v_old_size, 0);
        status := CASE
            WHEN p_operation[i] = 'A' AND current <> 0 THEN 'exists'
            WHEN p_operation[i] <> 'A' AND current = 0 THEN 'missing'
            WHEN p_operation[i] <> 'A' AND current <> p_expected[i] THEN 'stale'
            WHEN p_operation[i] = 'A' AND v_object_count >= v_head.max_objects THEN 'objects'
            WHEN p_operation[i] <> 'D' AND v_size > v_old_size AND v_bytes + v_size - v_old_size > v_head.max_bytes THEN 'bytes'
            ELSE 'done' END;
        IF status <> 'done' THEN
            current := CASE status WHEN 'objects' THEN v_head.max_objects WHEN 'bytes' THEN v_head.max_bytes ELSE current END;
            RETURN NEXT;
            CONTINUE;
        END IF;
        version := nextval(v_sequence);
        IF p_operation[i] = 'A' THEN
            INSERT INTO objects (tenant_id, api_group, resource, namespace, name, uid, resource_version, data, owner_uids, finalizers,
                                 deleting, created_at, size)
                VALUES (p_tenant, p_group[i], p_resource[i], p_namespace[i], p_name[i], p_uid[i]::uuid, version, p_data[i]::jsonb,
                        pp_words(p_owners[i]), pp_words(p_finalizers[i]), p_deleting[i], v_now, v_size);
            v_object_count := v_object_count + 1;
            v_bytes := v_bytes + v_size;
        ELSIF p_operation[i] = 'M' THEN
            UPDATE objects o SET uid = p_uid[i]::uuid, resource_version = version, data = p_data[i]::jsonb,
                    owner_uids = pp_words(p_owners[i]), finalizers = pp_words(p_finalizers[i]), deleting = p_deleting[i], size = v_size
                WHERE o.tenant_id = p_tenant AND o.api_group = p_group[i] AND o.resource = p_resource[i]
                AND o.namespace = p_namespace[i] AND o.name = p_name[i];
            v_bytes := v_bytes + v_size - v_old_size;
        ELSE
            DELETE FROM objects o
                WHERE o.tenant_id = p_tenant AND o.api_group = p_group[i] AND o.resource = p_resource[i]
                AND o.namespace = p_namespace[i] AND o.name = p_name[i];
            v_object_count := v_object_count - 1;
            v_bytes := v_bytes - v_old_size;
        END IF;
        INSERT INTO events (tenant_id, resource_version, previous, api_group, resource, namespace, name, uid, type, data, key_previous, at)
            VALUES (p_tenant, version, v_last, p_group[i], p_resource[i], p_namespace[i], p_name[i], p_uid[i]::uuid, p_operation[i],
                    p_data[i]::json, current, v_now);
        v_last := version;
        RETURN NEXT;
    END LOOP;
    IF v_last <> v_head.head THEN
        UPDATE tenant_heads h SET head = v_last, object_count = v_object_count, bytes = v_bytes WHERE h.tenant_id = p_tenant;
    END IF;
END
$$;
"""

# A JSON array of strings, or NULL for none, as text[]. The NULL case is inlined and costs nothing.
WORDS = """
CREATE FUNCTION pp_words(p_list text) RETURNS text[] LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN p_list IS NULL THEN '{}'::text[] ELSE ARRAY(SELECT json_array_elements_text(p_list::json)) END
$$;
"""

TABLES = """
CREATE SEQUENCE pp_rv_base START WITH 1;
ALTER TABLE tenant_heads SET (fillfactor = 20, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
ALTER TABLE objects SET (fillfactor = 85);
"""


class Migration(migrations.Migration):
    dependencies = [("storage", "0001_tables")]

    operations = [
        migrations.RunSQL(
            TABLES,
            """DROP SEQUENCE pp_rv_base;
            ALTER TABLE tenant_heads RESET (fillfactor, autovacuum_vacuum_scale_factor, autovacuum_vacuum_threshold);
            ALTER TABLE objects RESET (fillfactor);""",
        ),
        migrations.RunSQL(WORDS, "DROP FUNCTION pp_words;"),
        migrations.RunSQL(COMMIT, "DROP FUNCTION pp_commit;"),
    ]
