-- What a tenant's limits say of one write: pp_commit (commit.sql) asks it of each, under the
-- tenant's lock, and a dry run, which takes none, by pp_rehearse. Those without a query in them are
-- SQL and not PL/pgSQL, because the planner inlines them.

-- A limit as it is for one write: one that lightens (that makes the object smaller, or is of one
-- that is being deleted) may draw on a reserve of a quarter, so that finalizers can come off in a
-- tenant that is full. 1024 bytes are room for what such a write adds of itself (deletionTimestamp,
-- managedFields).
CREATE OR REPLACE FUNCTION pp_with_reserve(
    p_limit bigint, p_size integer, p_old_size integer, p_deleting boolean
) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
    SELECT p_limit + CASE
        WHEN p_size < p_old_size OR p_deleting AND p_size <= p_old_size + 1024 THEN p_limit / 4
        ELSE 0 END
$$;

-- The limit that a write would exceed, as pp_commit names it (objects, bytes, hour, log); NULL for
-- none. p_operation, p_deleting: as pp_commit has them; p_size and p_old_size: bytes of the object
-- after and before; then what the tenant has of each, and its limit: one that is NULL makes its
-- comparison NULL, and so does not bind. A delete, and the mark that begins one, is never refused.
CREATE OR REPLACE FUNCTION pp_exceeded(
    p_operation text, p_size integer, p_old_size integer,
    p_deleting boolean, p_old_deleting boolean,
    p_objects bigint, p_max_objects bigint, p_bytes bigint, p_max_bytes bigint,
    p_hour_bytes bigint, p_max_hour_bytes bigint, p_log_bytes bigint, p_max_log_bytes bigint
) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE
        WHEN p_operation = 'D' THEN NULL
        WHEN p_operation = 'M' AND p_deleting AND NOT p_old_deleting
            AND p_size <= p_old_size + 1024 THEN NULL
        WHEN p_operation = 'A' AND p_objects >= p_max_objects THEN 'objects'
        WHEN p_size > p_old_size AND p_bytes + p_size - p_old_size
            > pp_with_reserve(p_max_bytes, p_size, p_old_size, p_deleting) THEN 'bytes'
        WHEN p_hour_bytes + p_size
            > pp_with_reserve(p_max_hour_bytes, p_size, p_old_size, p_deleting) THEN 'hour'
        WHEN p_log_bytes + p_size
            > pp_with_reserve(p_max_log_bytes, p_size, p_old_size, p_deleting) THEN 'log'
        END
$$;

-- The limit that a refused write is told of: which of them p_status, as pp_commit has it, names;
-- NULL for a status that is no limit's.
CREATE OR REPLACE FUNCTION pp_limit(
    p_status text, p_max_objects bigint, p_max_bytes bigint, p_max_definitions bigint,
    p_max_hour_bytes bigint, p_max_log_bytes bigint
) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE p_status
        WHEN 'objects' THEN p_max_objects
        WHEN 'bytes' THEN p_max_bytes
        WHEN 'definitions' THEN p_max_definitions
        WHEN 'hour' THEN p_max_hour_bytes
        WHEN 'log' THEN p_max_log_bytes
        END
$$;

-- Whether a write adds a definition. These are few and added seldom: they are counted when one
-- comes.
CREATE OR REPLACE FUNCTION pp_defines(p_operation text, p_group text, p_resource text)
RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT p_operation = 'A' AND p_resource = 'customresourcedefinitions'
        AND p_group = 'apiextensions.k8s.io'
$$;

CREATE OR REPLACE FUNCTION pp_definitions(p_tenant bigint) RETURNS bigint LANGUAGE sql AS $$
    SELECT count(*) FROM objects o
    WHERE o.tenant_id = p_tenant AND o.api_group = 'apiextensions.k8s.io'
        AND o.resource = 'customresourcedefinitions'
$$;

-- What pp_commit would say of one write for the tenant's limits, as they are now: nothing is locked
-- or written, so another write may come first. Parameters as of pp_commit, but p_size for the text
-- itself; the row as well: status is `done`, a limit or `gone`.
CREATE OR REPLACE FUNCTION pp_rehearse(
    p_tenant bigint, p_operation text,
    p_group text, p_resource text, p_namespace text, p_name text,
    p_size bigint, p_deleting boolean
) RETURNS TABLE (status text, version bigint, before bigint, current bigint)
LANGUAGE plpgsql AS $$
DECLARE
    v_head tenant_heads%ROWTYPE;
    v_seconds bigint := extract(epoch FROM clock_timestamp())::bigint;
    v_old_size integer;
    v_old_deleting boolean;
BEGIN
    PERFORM set_config('polyplane.tenant', p_tenant::text, true);
    SELECT * INTO v_head FROM tenant_heads h WHERE h.tenant_id = p_tenant;
    IF NOT FOUND THEN
        RETURN QUERY SELECT 'gone', 0::bigint, 0::bigint, 0::bigint;
        RETURN;
    END IF;
    SELECT o.size, o.deleting INTO v_old_size, v_old_deleting FROM objects o
        WHERE o.tenant_id = p_tenant AND o.api_group = p_group AND o.resource = p_resource
            AND o.namespace = p_namespace AND o.name = p_name;
    status := coalesce(
        pp_exceeded(
            p_operation, p_size::integer, coalesce(v_old_size, 0), p_deleting, v_old_deleting,
            v_head.object_count, v_head.max_objects, v_head.bytes, v_head.max_bytes,
            CASE WHEN v_head.hour = v_seconds / 3600 THEN v_head.hour_bytes ELSE 0 END,
            v_head.max_hour_bytes, v_head.log_bytes, v_head.max_log_bytes
        ),
        CASE WHEN pp_defines(p_operation, p_group, p_resource)
            AND v_head.max_definitions <= pp_definitions(p_tenant) THEN 'definitions' END,
        'done'
    );
    version := 0;
    before := CASE status WHEN 'hour' THEN 3600 - v_seconds % 3600 ELSE v_head.head END;
    current := coalesce(pp_limit(
        status, v_head.max_objects, v_head.max_bytes, v_head.max_definitions,
        v_head.max_hour_bytes, v_head.max_log_bytes
    ), 0);
    RETURN NEXT;
END
$$;
