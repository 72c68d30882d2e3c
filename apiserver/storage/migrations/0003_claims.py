"""Values that one object at a time may hold within a tenant (cluster IPs, node ports), and objects by their uid.

`pp_commit` checks claims under the tenant's lock: what two processes picked at the same moment is given to one of them. Each claim begins
with the tenant, so that one index over all tenants finds it at once; objects that claim nothing cost that index nothing. A process of an
older version commits without claims; the registry's own look at what is in use still holds for those.
"""

from typing import ClassVar

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import migrations, models

DROP = "DROP FUNCTION pp_commit;"

COMMIT = """
CREATE FUNCTION pp_commit(
    p_tenant bigint, p_operation text[], p_group text[], p_resource text[], p_namespace text[], p_name text[], p_uid text[],
    p_data text[], p_expected bigint[], p_owners text[], p_finalizers text[], p_deleting boolean[],
    p_claims text[] DEFAULT NULL
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
    v_claims text[];
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
        v_claims := pp_words(p_claims[i]);
        status := CASE
            WHEN p_operation[i] = 'A' AND current <> 0 THEN 'exists'
            WHEN p_operation[i] <> 'A' AND current = 0 THEN 'missing'
            WHEN p_operation[i] <> 'A' AND current <> p_expected[i] THEN 'stale'
            WHEN p_operation[i] = 'A' AND v_object_count >= v_head.max_objects THEN 'objects'
            WHEN p_operation[i] <> 'D' AND v_size > v_old_size AND v_bytes + v_size - v_old_size > v_head.max_bytes THEN 'bytes'
            ELSE 'done' END;
        IF status = 'done' AND p_claims[i] IS NOT NULL AND p_operation[i] <> 'D' AND EXISTS (
            SELECT 1 FROM objects o WHERE o.tenant_id = p_tenant AND o.claims && v_claims AND o.claims <> '{}'
            AND (o.api_group, o.resource, o.namespace, o.name) <> (p_group[i], p_resource[i], p_namespace[i], p_name[i])
        ) THEN
            status := 'claimed';
        END IF;
        IF status <> 'done' THEN
            current := CASE status WHEN 'objects' THEN v_head.max_objects WHEN 'bytes' THEN v_head.max_bytes ELSE current END;
            RETURN NEXT;
            CONTINUE;
        END IF;
        version := nextval(v_sequence);
        IF p_operation[i] = 'A' THEN
            INSERT INTO objects (tenant_id, api_group, resource, namespace, name, uid, resource_version, data, owner_uids, finalizers,
                                 deleting, created_at, size, claims)
                VALUES (p_tenant, p_group[i], p_resource[i], p_namespace[i], p_name[i], p_uid[i]::uuid, version, p_data[i]::jsonb,
                        pp_words(p_owners[i]), pp_words(p_finalizers[i]), p_deleting[i], v_now, v_size, v_claims);
            v_object_count := v_object_count + 1;
            v_bytes := v_bytes + v_size;
        ELSIF p_operation[i] = 'M' THEN
            UPDATE objects o SET uid = p_uid[i]::uuid, resource_version = version, data = p_data[i]::jsonb,
                    owner_uids = pp_words(p_owners[i]), finalizers = pp_words(p_finalizers[i]), deleting = p_deleting[i], size = v_size,
                    claims = v_claims
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

BEFORE = """
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


class Migration(migrations.Migration):
    dependencies: ClassVar = [("storage", "0002_commit")]

    operations: ClassVar = [
        migrations.AddField(
            "objectrow", "claims", ArrayField(models.TextField(), default=list, db_default=models.Value([], ArrayField(models.TextField())))
        ),
        migrations.AddIndex("objectrow", GinIndex(fields=["claims"], name="objects_claims", condition=~models.Q(claims=[]))),
        migrations.AddIndex("objectrow", models.Index(fields=["tenant_id", "uid"], name="objects_by_uid")),
        migrations.RunSQL([DROP, COMMIT], [DROP, BEFORE]),
    ]
