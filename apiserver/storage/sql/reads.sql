-- What requests read most. These functions name their tenant themselves (wall.sql), which costs no
-- round trip; other reads open a transaction that names it (apiserver/storage/visibility.py).

-- Head and floor of the tenants that are there. All readers of a process that wait at the same
-- moment ask for theirs in one query, so this one looks over the wall, at three numbers each, and
-- closes it again: its caller's transaction may go on.
CREATE OR REPLACE FUNCTION pp_heads(p_tenants bigint[])
RETURNS TABLE (tenant_id bigint, head bigint, floor bigint)
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('polyplane.tenant', 'all', true);
    RETURN QUERY
        SELECT h.tenant_id, h.head, h.floor FROM tenant_heads h WHERE h.tenant_id = ANY(p_tenants);
    PERFORM set_config('polyplane.tenant', '', true);
END
$$;

-- One object. No row: there is no such tenant; a row of NULLs: the tenant has no such object. The
-- text stands in the object's newest event, which compaction never removes.
CREATE OR REPLACE FUNCTION pp_get(
    p_tenant bigint, p_group text, p_resource text, p_namespace text, p_name text
) RETURNS TABLE (uid text, resource_version bigint, data json)
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('polyplane.tenant', p_tenant::text, true);
    RETURN QUERY SELECT o.uid::text, o.resource_version, e.data
        FROM tenant_heads h
        LEFT JOIN objects o ON o.tenant_id = h.tenant_id AND o.api_group = p_group
            AND o.resource = p_resource AND o.namespace = p_namespace AND o.name = p_name
        LEFT JOIN events e ON e.tenant_id = h.tenant_id AND e.resource_version = o.resource_version
        WHERE h.tenant_id = p_tenant;
END
$$;

-- The log above p_after, at most p_limit events of it.
--
-- p_group, p_resource  whose events are wanted; a p_resource of NULL: all. Of the others come only
--     the last, which says how far this answer reaches, and such whose predecessor is missing
--     (`prior`, the event before it, is not `previous`, which it was written after): a gap that the
--     reader must notice.
-- p_bytes  none after the first with which they have so many bytes together; NULL: no bound.
-- p_with_old  whether `old` holds the object as it was before.
--
-- One row of NULLs beside `floor`: there is nothing above p_after. No row: there is no such tenant.
CREATE OR REPLACE FUNCTION pp_events(
    p_tenant bigint, p_after bigint, p_limit bigint, p_bytes bigint,
    p_group text, p_resource text, p_with_old boolean
) RETURNS TABLE (
    floor bigint, resource_version bigint, previous bigint, prior bigint, matched boolean,
    type text, api_group text, resource text, namespace text, name text, uid text,
    data json, key_previous bigint, old json
)
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('polyplane.tenant', p_tenant::text, true);
    RETURN QUERY SELECT
        h.floor, v.resource_version, v.previous, v.prior, v.matched,
        v.type::text, v.api_group, v.resource, v.namespace, v.name, v.uid::text,
        v.data, v.key_previous,
        CASE WHEN p_with_old AND v.key_previous > 0 THEN (
            SELECT e.data FROM events e
            WHERE e.tenant_id = p_tenant AND e.resource_version = v.key_previous
        ) END
    FROM tenant_heads h LEFT JOIN LATERAL (
        SELECT
            *,
            lag(s.resource_version) OVER (ORDER BY s.resource_version) AS prior,
            max(s.resource_version) OVER () AS through,
            p_resource IS NULL OR (s.api_group = p_group AND s.resource = p_resource) AS matched
        FROM (
            SELECT
                *,
                coalesce(
                    sum(
                        CASE WHEN p_resource IS NULL
                            OR (n.api_group = p_group AND n.resource = p_resource) THEN n.size END
                    ) OVER (
                        ORDER BY n.resource_version ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
                    ), 0
                ) AS bytes_before
            FROM (
                SELECT * FROM events e
                WHERE e.tenant_id = p_tenant AND e.resource_version > p_after
                ORDER BY e.resource_version LIMIT p_limit
            ) AS n
        ) AS s WHERE p_bytes IS NULL OR s.bytes_before < p_bytes
    ) v ON v.matched OR v.prior IS DISTINCT FROM v.previous OR v.resource_version = v.through
    WHERE h.tenant_id = p_tenant ORDER BY v.resource_version;
END
$$;

-- Objects that name one of the uids as an owner. Events are nobody's dependents, whatever they say:
-- garbage collection ignores them. SECURITY DEFINER for the index, as pp_claimed (claims.sql).
CREATE OR REPLACE FUNCTION pp_dependents(p_tenant bigint, p_uids text[])
RETURNS TABLE (uid text, deleting boolean, finalizers text[])
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
    PERFORM set_config('polyplane.tenant', p_tenant::text, true);
    RETURN QUERY SELECT o.uid::text, o.deleting, o.finalizers FROM objects o
        WHERE o.tenant_id = p_tenant AND o.owner_uids && p_uids AND NOT (o.owner_uids = '{}')
            AND (o.api_group, o.resource) <> ('', 'events');
END
$$;

-- The first p_limit objects of a resource, in their order (namespace || '/', then name): of a
-- namespace, or of all where p_namespace is ''. number: which one it is.
--
-- The index has them by namespace and name, where "a" comes before "a-b". Namespaces that begin
-- with another, and a character before '/' behind it, come right after that in the index: each such
-- run is put in order, and comes before whatever is behind it. STABLE, so that all statements see
-- what the caller's does; SECURITY DEFINER for the index, as pp_claimed (claims.sql).
CREATE OR REPLACE FUNCTION pp_first(
    p_tenant bigint, p_group text, p_resource text, p_namespace text, p_limit bigint
) RETURNS TABLE (number bigint, namespace text, name text, uid uuid, resource_version bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    v_run text[];
    v_next text := p_namespace;
    v_left bigint := p_limit;
    v_found bigint;
BEGIN
    PERFORM set_config('polyplane.tenant', p_tenant::text, true);
    IF p_namespace = '' THEN
        SELECT min(o.namespace) INTO v_next FROM objects o
            WHERE o.tenant_id = p_tenant AND o.api_group = p_group AND o.resource = p_resource;
    END IF;
    WHILE v_next IS NOT NULL AND v_left > 0 LOOP
        v_run := '{}';
        LOOP
            v_run := v_run || v_next;
            SELECT min(o.namespace) INTO v_next FROM objects o
                WHERE o.tenant_id = p_tenant AND o.api_group = p_group AND o.resource = p_resource
                    AND o.namespace > v_next AND p_namespace = '';
            EXIT WHEN v_next IS NULL OR v_next COLLATE "C" >= v_run[1] || '/';
        END LOOP;
        RETURN QUERY SELECT p_limit - v_left + row_number() OVER (ORDER BY s.r, f.name), s.ns,
            f.name, f.uid, f.resource_version
            FROM (SELECT w.ns, w.ns || '/' COLLATE "C" AS r FROM unnest(v_run) AS w (ns)) AS s
            CROSS JOIN LATERAL (
                SELECT o.name, o.uid, o.resource_version FROM objects o
                WHERE o.tenant_id = p_tenant AND o.api_group = p_group
                    AND o.resource = p_resource AND o.namespace = s.ns
                ORDER BY o.name LIMIT v_left
            ) AS f ORDER BY s.r, f.name LIMIT v_left;
        GET DIAGNOSTICS v_found = ROW_COUNT;
        v_left := v_left - v_found;
    END LOOP;
END
$$;

-- Objects whose name has p_part in it, in upper or lower case: the keys of the first p_limit, among
-- the first p_most objects in the order of keys (of a tenant, a group, a resource, a namespace;
-- NULL: of all). Where fewer are found and there are more objects than that, a last row of NULLs
-- says so.
--
-- Keys alone are read, as they stand together in their index, and not one row. SECURITY DEFINER,
-- because row-level security looks at each, which takes longer than to compare the name: what it
-- would say, is said at the beginning.
CREATE OR REPLACE FUNCTION pp_names(
    p_tenant bigint, p_group text, p_resource text, p_namespace text,
    p_part text, p_most bigint, p_limit bigint
) RETURNS TABLE (tenant_id bigint, api_group text, resource text, namespace text, name text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    v_parallel text := current_setting('max_parallel_workers_per_gather');
    v_found bigint;
    v_more boolean;
BEGIN
    IF coalesce(current_setting('polyplane.tenant', true), '')
        NOT IN ('all', coalesce(p_tenant::text, 'all'))
    THEN
        RETURN;
    END IF;
    PERFORM set_config('plan_cache_mode', 'force_custom_plan', true),
        set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true),
        set_config('max_parallel_workers_per_gather', '0', true), set_config('jit', 'off', true);
    RETURN QUERY SELECT w.* FROM (
        SELECT o.tenant_id, o.api_group, o.resource, o.namespace, o.name FROM objects o
        WHERE (p_tenant IS NULL OR o.tenant_id = p_tenant)
            AND (p_group IS NULL OR o.api_group = p_group)
            AND (p_resource IS NULL OR o.resource = p_resource)
            AND (p_namespace IS NULL OR o.namespace = p_namespace)
        ORDER BY 1, 2, 3, 4, 5 LIMIT p_most
    ) AS w WHERE strpos(upper(w.name), upper(p_part)) > 0 LIMIT p_limit;
    GET DIAGNOSTICS v_found = ROW_COUNT;
    -- What the tenants count is exact, and seldom so many.
    SELECT sum(h.object_count) > p_most INTO v_more FROM tenant_heads h
        WHERE p_tenant IS NULL OR h.tenant_id = p_tenant;
    IF v_found < p_limit AND v_more THEN
        IF coalesce(p_group, p_resource, p_namespace) IS NOT NULL THEN
            PERFORM 1 FROM objects o
                WHERE (p_tenant IS NULL OR o.tenant_id = p_tenant)
                    AND (p_group IS NULL OR o.api_group = p_group)
                    AND (p_resource IS NULL OR o.resource = p_resource)
                    AND (p_namespace IS NULL OR o.namespace = p_namespace)
                ORDER BY o.tenant_id, o.api_group, o.resource, o.namespace, o.name
                OFFSET p_most LIMIT 1;
            v_more := FOUND;
        END IF;
        IF v_more THEN
            RETURN QUERY SELECT NULL::bigint, NULL, NULL, NULL, NULL;
        END IF;
    END IF;
    PERFORM set_config('plan_cache_mode', 'auto', true),
        set_config('enable_seqscan', 'on', true), set_config('enable_bitmapscan', 'on', true),
        set_config('max_parallel_workers_per_gather', v_parallel, true);
END
$$;
