-- pp_commit: the one way in which objects change.
--
-- One call is one transaction is one batch of one tenant (apiserver/storage/commit.py makes it and
-- reads its answer). The arrays hold one write each at the same place:
--
--   p_operation   A (add), M (modify) or D (delete), as in events.type
--   p_group, p_resource, p_namespace, p_name   the object's key
--   p_uid         its uid
--   p_data        its JSON text after the write; of a delete, its last state
--   p_expected    the resourceVersion that it must have now (M and D)
--   p_owners      JSON array of its owners' uids, NULL for none
--   p_finalizers  JSON array of its finalizers, NULL for none
--   p_deleting    whether metadata.deletionTimestamp is set
--   p_claims      JSON array of values that no other object of the tenant may hold, NULL for none
--   p_needs       uid of an object that must be there, and not be deleted, for an add or a modify
--                 (of a new custom object its definition's), NULL for none
--   p_audit       the audit entry that the write leaves when it is done (audit_tables.sql: data),
--                 NULL for none
--   p_audit_user, p_audit_verb, p_audit_code   the entry's own columns
--
-- What has a default may be left out: a worker of an older version commits without it.
--
-- One row comes back for each write, in their order:
--
--   status     done: it is written. Refused: exists, missing, stale (another resourceVersion than
--              expected), claimed, orphan (what it needs is gone); objects, bytes, definitions,
--              hour, log (over a limit of the tenant); gone (there is no such tenant)
--   version    its resourceVersion, 0 if refused
--   before     the tenant's resourceVersion before it; for `hour`, seconds until the hour is over
--   current    the object's resourceVersion before it, 0 for none; for a limit, the limit
--
-- A refused write leaves no trace and does not disturb its neighbours in the batch.
CREATE OR REPLACE FUNCTION pp_commit(
    p_tenant bigint, p_operation text[],
    p_group text[], p_resource text[], p_namespace text[], p_name text[], p_uid text[],
    p_data text[], p_expected bigint[], p_owners text[], p_finalizers text[], p_deleting boolean[],
    p_claims text[] DEFAULT NULL, p_needs text[] DEFAULT NULL, p_audit text[] DEFAULT NULL,
    p_audit_user text[] DEFAULT NULL, p_audit_verb text[] DEFAULT NULL,
    p_audit_code bigint[] DEFAULT NULL
) RETURNS TABLE (status text, version bigint, before bigint, current bigint)
LANGUAGE plpgsql AS $$
DECLARE
    v_head tenant_heads%ROWTYPE;
    v_sequence regclass;
    v_now timestamptz;
    -- the head as it will be, written once at the end
    v_last bigint;
    v_object_count bigint;
    v_bytes bigint;
    v_logged bigint := 0;
    v_hour bigint;
    v_hour_bytes bigint;
    -- by the places of p_operation; NULL for a write that was refused
    v_versions bigint[] := array_fill(NULL::bigint, ARRAY[array_length(p_operation, 1)]);
    -- of the write that is looked at
    v_size integer;
    v_old_size integer;
    v_old_deleting boolean;
    v_exceeded text;
    v_claims text[];
BEGIN
    -- The lock makes the order of versions the order of commits: a sequence alone lets readers see
    -- 12 before 11. All that writes a tenant takes it, so what is read below stays true until the
    -- commit, and no row needs a lock. (The first number keeps other users of advisory locks away.)
    PERFORM pg_advisory_xact_lock(5786, hashint8(p_tenant));
    -- Named here, not by the caller: no round trip more, and the wall (wall.sql) stands all the
    -- same.
    PERFORM set_config('polyplane.tenant', p_tenant::text, true);
    -- Limits are read anew in each call: a change of them binds at once.
    SELECT * INTO v_head FROM tenant_heads h WHERE h.tenant_id = p_tenant;
    IF NOT FOUND THEN
        RETURN QUERY
            SELECT 'gone', 0::bigint, 0::bigint, 0::bigint FROM generate_subscripts(p_operation, 1);
        RETURN;
    END IF;
    v_sequence := ('pp_rv_' || p_tenant)::regclass;
    v_last := v_head.head;
    v_object_count := v_head.object_count;
    v_bytes := v_head.bytes;
    v_now := clock_timestamp();
    v_hour := extract(epoch FROM v_now)::bigint / 3600;
    v_hour_bytes := CASE WHEN v_head.hour = v_hour THEN v_head.hour_bytes ELSE 0 END;

    FOR i IN 1 .. array_length(p_operation, 1) LOOP
        version := 0;
        before := v_last;
        v_size := octet_length(p_data[i]);
        SELECT o.resource_version, o.size, o.deleting INTO current, v_old_size, v_old_deleting
            FROM objects o
            WHERE o.tenant_id = p_tenant AND o.api_group = p_group[i]
                AND o.resource = p_resource[i] AND o.namespace = p_namespace[i]
                AND o.name = p_name[i];
        current := coalesce(current, 0);
        v_old_size := coalesce(v_old_size, 0);

        -- Preconditions first, then limits.
        v_exceeded := pp_exceeded(
            p_operation[i], v_size, v_old_size, p_deleting[i], v_old_deleting,
            v_object_count, v_head.max_objects, v_bytes, v_head.max_bytes,
            v_hour_bytes, v_head.max_hour_bytes, v_head.log_bytes + v_logged, v_head.max_log_bytes
        );
        status := CASE
            WHEN p_operation[i] = 'A' AND current <> 0 THEN 'exists'
            WHEN p_operation[i] <> 'A' AND current = 0 THEN 'missing'
            WHEN p_operation[i] <> 'A' AND current <> p_expected[i] THEN 'stale'
            ELSE coalesce(v_exceeded, 'done') END;

        IF status = 'done' AND pp_defines(p_operation[i], p_group[i], p_resource[i])
            AND v_head.max_definitions <= pp_definitions(p_tenant)
        THEN
            status := 'definitions';
        END IF;

        -- What two workers picked at the same moment is given to one of them.
        IF p_claims[i] IS NULL THEN
            v_claims := '{}';
        ELSE
            v_claims := pp_words(p_claims[i]);
            IF status = 'done' AND p_operation[i] <> 'D' AND pp_claimed(
                p_tenant, v_claims, p_group[i], p_resource[i], p_namespace[i], p_name[i]
            ) THEN
                status := 'claimed';
            END IF;
        END IF;

        -- A worker that has not heard yet that a definition is deleted leaves nothing behind.
        IF status = 'done' AND p_operation[i] <> 'D' AND p_needs[i] IS NOT NULL AND NOT EXISTS (
            SELECT 1 FROM objects o
            WHERE o.tenant_id = p_tenant AND o.uid = p_needs[i]::uuid AND NOT o.deleting
        ) THEN
            status := 'orphan';
        END IF;

        IF status <> 'done' THEN
            current := coalesce(pp_limit(
                status, v_head.max_objects, v_head.max_bytes, v_head.max_definitions,
                v_head.max_hour_bytes, v_head.max_log_bytes
            ), current);
            before := CASE status
                WHEN 'hour' THEN 3600 - extract(epoch FROM v_now)::bigint % 3600
                ELSE before END;
            RETURN NEXT;
            CONTINUE;
        END IF;

        -- Drawn when nothing can fail any more, so that versions have no needless gaps.
        version := nextval(v_sequence);
        IF p_operation[i] = 'A' THEN
            INSERT INTO objects (
                tenant_id, api_group, resource, namespace, name, uid, resource_version, data,
                owner_uids, finalizers, deleting, created_at, size, claims
            ) VALUES (
                p_tenant, p_group[i], p_resource[i], p_namespace[i], p_name[i], p_uid[i]::uuid,
                version, p_data[i]::jsonb, pp_words(p_owners[i]), pp_words(p_finalizers[i]),
                p_deleting[i], v_now, v_size, v_claims
            );
            v_object_count := v_object_count + 1;
            v_bytes := v_bytes + v_size;
        ELSIF p_operation[i] = 'M' THEN
            UPDATE objects o SET
                uid = p_uid[i]::uuid, resource_version = version, data = p_data[i]::jsonb,
                owner_uids = pp_words(p_owners[i]), finalizers = pp_words(p_finalizers[i]),
                deleting = p_deleting[i], size = v_size, claims = v_claims
                WHERE o.tenant_id = p_tenant AND o.api_group = p_group[i]
                    AND o.resource = p_resource[i] AND o.namespace = p_namespace[i]
                    AND o.name = p_name[i];
            v_bytes := v_bytes + v_size - v_old_size;
        ELSE
            DELETE FROM objects o
                WHERE o.tenant_id = p_tenant AND o.api_group = p_group[i]
                    AND o.resource = p_resource[i] AND o.namespace = p_namespace[i]
                    AND o.name = p_name[i];
            v_object_count := v_object_count - 1;
            v_bytes := v_bytes - v_old_size;
        END IF;

        -- The object's text is kept here, as json, which keeps it as it was written: jsonb
        -- (objects.data) does not keep the order of members. `previous` chains the tenant's events,
        -- so that a reader notices a gap; `key_previous` chains those of one object.
        INSERT INTO events (
            tenant_id, resource_version, previous, api_group, resource, namespace, name, uid, type,
            data, key_previous, at, size
        ) VALUES (
            p_tenant, version, v_last, p_group[i], p_resource[i], p_namespace[i], p_name[i],
            p_uid[i]::uuid, p_operation[i], p_data[i]::json, current, v_now, v_size
        );
        v_last := version;
        v_versions[i] := version;
        v_logged := v_logged + v_size;
        v_hour_bytes := v_hour_bytes + v_size;
        RETURN NEXT;
    END LOOP;

    IF v_last <> v_head.head THEN
        -- log_bytes: relative, because compaction takes off without the tenant's lock
        UPDATE tenant_heads h SET
            head = v_last, object_count = v_object_count, bytes = v_bytes,
            hour = v_hour, hour_bytes = v_hour_bytes, log_bytes = h.log_bytes + v_logged
            WHERE h.tenant_id = p_tenant;
        -- Who made the versions: one statement for the batch, and no version without its entry.
        IF p_audit IS NOT NULL THEN
            INSERT INTO audit_entries (
                tenant_id, at, resource_version, user_name, verb, code, api_group, resource,
                namespace, name, data
            ) SELECT
                p_tenant, v_now, w.made, w.by, w.how, w.answer, w.g, w.r, w.s, w.n, w.entry::json
                FROM unnest(
                    v_versions, p_audit_user, p_audit_verb, p_audit_code, p_group, p_resource,
                    p_namespace, p_name, p_audit
                ) AS w (made, by, how, answer, g, r, s, n, entry)
                WHERE w.made IS NOT NULL AND w.entry IS NOT NULL;
        END IF;
    END IF;
END
$$;
