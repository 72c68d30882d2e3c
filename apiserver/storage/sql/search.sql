-- The search index: which objects have which words, and which certificates end when
-- (models.SearchEntry), up to which version of the tenant's log (models.SearchHead). It is filled
-- beside the commits (apiserver/search/indexer.py), which know nothing of it.

-- Makes the index true up to p_through: p_terms, the words of the objects named, separated by
-- spaces; NULL where an object may be gone; p_ends, times in RFC 3339, NULL for what has no end.
-- False, and nothing done, if the index does not stand at p_after (any more): somebody else was
-- faster, or the tenant is gone.
--
-- KEY SHARE: the deletion of the tenant waits for this, and commits do not.
CREATE OR REPLACE FUNCTION pp_index_entries(
    p_tenant bigint, p_after bigint, p_through bigint,
    p_group text[], p_resource text[], p_namespace text[], p_name text[], p_terms text[],
    p_ends text[]
) RETURNS TABLE (done boolean)
LANGUAGE plpgsql AS $$
DECLARE
    v_floor bigint;
BEGIN
    PERFORM set_config('polyplane.tenant', p_tenant::text, true);
    SELECT h.floor INTO v_floor FROM tenant_heads h WHERE h.tenant_id = p_tenant FOR KEY SHARE;
    IF FOUND AND p_after = 0 THEN
        INSERT INTO search_heads (tenant_id, indexed) VALUES (p_tenant, 0) ON CONFLICT DO NOTHING;
    END IF;
    UPDATE search_heads h SET indexed = p_through
        WHERE h.tenant_id = p_tenant AND h.indexed = p_after;
    done := FOUND;
    RETURN NEXT;
    IF NOT done THEN
        RETURN;
    END IF;
    INSERT INTO search_entries AS s (tenant_id, api_group, resource, namespace, name, terms, ends)
        SELECT p_tenant, w.g, w.r, w.ns, w.n, array_to_tsvector(string_to_array(w.terms, ' ')),
            w.ends::timestamptz
        FROM unnest(p_group, p_resource, p_namespace, p_name, p_terms, p_ends)
            AS w (g, r, ns, n, terms, ends)
        WHERE w.terms IS NOT NULL
        ON CONFLICT (tenant_id, api_group, resource, namespace, name)
            DO UPDATE SET terms = excluded.terms, ends = excluded.ends
            WHERE s.terms <> excluded.terms OR s.ends IS DISTINCT FROM excluded.ends;
    DELETE FROM search_entries s
        USING unnest(p_group, p_resource, p_namespace, p_name, p_terms) AS w (g, r, ns, n, terms)
        WHERE s.tenant_id = p_tenant AND s.api_group = w.g AND s.resource = w.r
            AND s.namespace = w.ns AND s.name = w.n AND w.terms IS NULL AND NOT EXISTS (
                SELECT 1 FROM objects o WHERE o.tenant_id = p_tenant AND o.api_group = w.g
                    AND o.resource = w.r AND o.namespace = w.ns AND o.name = w.n
            );
    -- What was deleted while nobody looked is in the log no more.
    IF p_after BETWEEN 1 AND v_floor - 1 THEN
        DELETE FROM search_entries s WHERE s.tenant_id = p_tenant AND NOT EXISTS (
            SELECT 1 FROM objects o WHERE o.tenant_id = p_tenant AND o.api_group = s.api_group
                AND o.resource = s.resource AND o.namespace = s.namespace AND o.name = s.name
        );
    END IF;
END
$$;

-- The resources that the tenant has objects of: one look into the index for each. SECURITY DEFINER
-- for that, as pp_claimed (claims.sql): to compare texts is not leakproof. The tenant is bounded by
-- <= because PostgreSQL does not begin at a row's comparison beside an equality.
CREATE OR REPLACE FUNCTION pp_kinds(p_tenant bigint)
RETURNS TABLE (api_group text, resource text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
    PERFORM set_config('polyplane.tenant', p_tenant::text, true);
    api_group := '';
    resource := '';
    LOOP
        SELECT o.api_group, o.resource INTO pp_kinds.api_group, pp_kinds.resource FROM objects o
            WHERE o.tenant_id <= p_tenant AND (o.tenant_id, o.api_group, o.resource)
                > (p_tenant, pp_kinds.api_group, pp_kinds.resource)
            ORDER BY o.tenant_id, o.api_group, o.resource LIMIT 1;
        EXIT WHEN NOT FOUND;
        RETURN NEXT;
    END LOOP;
END
$$;

-- The namespaces that have objects of these resources, p_limit in all; "" for objects that are in
-- none. As pp_kinds.
CREATE OR REPLACE FUNCTION pp_places(
    p_tenant bigint, p_groups text[], p_resources text[], p_limit bigint
) RETURNS TABLE (api_group text, resource text, namespace text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    v_left bigint := p_limit;
BEGIN
    PERFORM set_config('polyplane.tenant', p_tenant::text, true);
    FOR api_group, resource IN SELECT * FROM unnest(p_groups, p_resources) LOOP
        SELECT min(o.namespace) INTO pp_places.namespace FROM objects o
            WHERE o.tenant_id = p_tenant AND o.api_group = pp_places.api_group
                AND o.resource = pp_places.resource;
        WHILE v_left > 0 AND namespace IS NOT NULL LOOP
            v_left := v_left - 1;
            RETURN NEXT;
            SELECT min(o.namespace) INTO pp_places.namespace FROM objects o
                WHERE o.tenant_id = p_tenant AND o.api_group = pp_places.api_group
                    AND o.resource = pp_places.resource AND o.namespace > pp_places.namespace;
        END LOOP;
    END LOOP;
END
$$;

-- The keys of at most p_limit indexed objects, in their order, above the key p_after (four texts),
-- that have the words of p_query (a tsquery; NULL: all have), and that are of a whole resource
-- (p_groups, p_resources) or of a resource in a namespace (p_place_groups ...).
--
-- What many objects have is found by going through the entries in the order of keys; what few have,
-- by GIN, whose matches all have to be sorted. PostgreSQL cannot know which of the two a word is,
-- because words differ by tenant and place. So: the first p_walk entries; where they have too few,
-- GIN, if it finds no more than p_most; else entry by entry to the end. GIN is asked for p_easy
-- first, where there is such a tsquery: it finds no less than p_query, and asks for no beginning of
-- so many words that to gather them takes long. A p_walk of NULL: at once to the end.
--
-- work_mem: what GIN gathers stays in memory, places and keys of p_most entries.
--
-- SECURITY DEFINER for the index, as pp_claimed (claims.sql): words begin with their tenant.
CREATE OR REPLACE FUNCTION pp_search(
    p_tenant bigint, p_query text, p_groups text[], p_resources text[],
    p_place_groups text[], p_place_resources text[], p_place_namespaces text[],
    p_after text[], p_limit bigint, p_walk bigint, p_most bigint, p_easy text
) RETURNS TABLE (api_group text, resource text, namespace text, name text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    v_query tsquery := p_query::tsquery;
    v_gin tsquery := v_query;
    v_exact boolean := true;
    v_after text[] := p_after;
    v_walk bigint := p_walk;
    v_left bigint := p_limit;
    v_found bigint;
BEGIN
    PERFORM set_config('polyplane.tenant', p_tenant::text, true), set_config('jit', 'off', true),
        set_config('enable_seqscan', 'off', true), set_config('work_mem', '32MB', true);
    LOOP
        PERFORM set_config('enable_bitmapscan', 'off', true),
            set_config('enable_indexscan', 'on', true);
        RETURN QUERY SELECT w.api_group, w.resource, w.namespace, w.name FROM (
            SELECT * FROM search_entries s
            WHERE s.tenant_id <= p_tenant
                AND (s.tenant_id, s.api_group, s.resource, s.namespace, s.name)
                    > (p_tenant, v_after[1], v_after[2], v_after[3], v_after[4])
            ORDER BY s.tenant_id, s.api_group, s.resource, s.namespace, s.name LIMIT v_walk
        ) AS w
        WHERE (v_query IS NULL OR w.terms @@ v_query) AND (
            (w.api_group, w.resource) IN (SELECT * FROM unnest(p_groups, p_resources))
            OR (w.api_group, w.resource, w.namespace) IN (
                SELECT * FROM unnest(p_place_groups, p_place_resources, p_place_namespaces)
            )
        )
        ORDER BY w.tenant_id, w.api_group, w.resource, w.namespace, w.name LIMIT v_left;
        GET DIAGNOSTICS v_found = ROW_COUNT;
        v_left := v_left - v_found;
        EXIT WHEN v_left = 0 OR v_walk IS NULL;
        SELECT ARRAY[s.api_group, s.resource, s.namespace, s.name] INTO v_after
            FROM search_entries s
            WHERE s.tenant_id <= p_tenant
                AND (s.tenant_id, s.api_group, s.resource, s.namespace, s.name)
                    > (p_tenant, p_after[1], p_after[2], p_after[3], p_after[4])
            ORDER BY s.tenant_id, s.api_group, s.resource, s.namespace, s.name
            OFFSET p_walk - 1 LIMIT 1;
        EXIT WHEN v_after IS NULL;
        PERFORM set_config('enable_bitmapscan', 'on', true),
            set_config('enable_indexscan', 'off', true);
        IF p_easy IS NOT NULL THEN
            SELECT count(*) INTO v_found FROM (
                SELECT 1 FROM search_entries s WHERE s.terms @@ p_easy::tsquery LIMIT p_most + 1
            ) AS m;
            IF v_found <= p_most THEN
                v_gin := p_easy::tsquery;
                v_exact := false;
            END IF;
        END IF;
        -- One row at least, which says how many there are. IS TRUE: so that GIN is not asked for
        -- p_query too.
        FOR v_found, api_group, resource, namespace, name IN
            WITH found AS MATERIALIZED (
                SELECT s.tenant_id AS t, s.api_group AS g, s.resource AS r, s.namespace AS ns,
                    s.name AS n
                FROM search_entries s
                WHERE s.terms @@ v_gin AND (v_exact OR (s.terms @@ v_query) IS TRUE)
                LIMIT p_most + 1
            ), told AS (
                SELECT count(*) AS number FROM found
            )
            SELECT told.number, f.g, f.r, f.ns, f.n FROM told LEFT JOIN LATERAL (
                SELECT * FROM found
                WHERE told.number <= p_most AND t = p_tenant AND (g, r, ns, n)
                        > (v_after[1], v_after[2], v_after[3], v_after[4])
                    AND (
                        (g, r) IN (SELECT * FROM unnest(p_groups, p_resources))
                        OR (g, r, ns) IN (
                            SELECT * FROM unnest(
                                p_place_groups, p_place_resources, p_place_namespaces
                            )
                        )
                    )
                ORDER BY g, r, ns, n LIMIT v_left
            ) AS f ON true ORDER BY f.g, f.r, f.ns, f.n
        LOOP
            IF name IS NOT NULL THEN
                RETURN NEXT;
            END IF;
        END LOOP;
        EXIT WHEN v_found <= p_most;
        v_walk := NULL;
    END LOOP;
    PERFORM set_config('enable_seqscan', 'on', true), set_config('enable_bitmapscan', 'on', true),
        set_config('enable_indexscan', 'on', true);
END
$$;
