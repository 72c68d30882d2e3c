-- Tallies: how many objects a tenant has of each resource, in all and in each namespace
-- (models.Tally), up to which version of its log (models.TallyHead). They are kept beside the
-- commits (apiserver/search/indexer.py), which know nothing of them; what was written since is
-- counted from the log, so that an answer is of now (apiserver/storage/tally.py).
--
-- A row without a namespace is all of its resource, wherever the objects are.

-- Takes the tenant's tallies on by at most p_most entries of its log; whether its end was reached.
-- Where they cannot go on (there are none yet, or what they would have to read has been compacted),
-- all objects are counted anew.
--
-- KEY SHARE: the deletion of the tenant waits for this, and commits do not. Who finds another at it
-- leaves it to him.
CREATE OR REPLACE FUNCTION pp_tally(p_tenant bigint, p_most bigint)
RETURNS TABLE (done boolean)
LANGUAGE plpgsql AS $$
DECLARE
    v_compacted bigint;
    v_through bigint;
    v_last bigint;
    v_read bigint;
BEGIN
    done := true;
    PERFORM set_config('polyplane.tenant', p_tenant::text, true);
    SELECT h.compacted INTO v_compacted FROM tenant_heads h
        WHERE h.tenant_id = p_tenant FOR KEY SHARE;
    IF FOUND AND NOT EXISTS (SELECT 1 FROM tally_heads t WHERE t.tenant_id = p_tenant) THEN
        INSERT INTO tally_heads (tenant_id, through) VALUES (p_tenant, 0) ON CONFLICT DO NOTHING;
    END IF;
    SELECT t.through INTO v_through FROM tally_heads t
        WHERE t.tenant_id = p_tenant FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN NEXT;
        RETURN;
    END IF;

    IF v_through < v_compacted THEN
        DELETE FROM tallies t WHERE t.tenant_id = p_tenant;
        -- One statement sees one state: the head is that of the objects.
        WITH places AS (
            SELECT o.api_group, o.resource, o.namespace, count(*) AS number FROM objects o
            WHERE o.tenant_id = p_tenant GROUP BY 1, 2, 3
        ), filled AS (
            INSERT INTO tallies (tenant_id, namespace, api_group, resource, number)
            SELECT p_tenant, '', p.api_group, p.resource, sum(p.number) FROM places p GROUP BY 3, 4
            UNION ALL
            SELECT p_tenant, p.namespace, p.api_group, p.resource, p.number FROM places p
            WHERE p.namespace <> ''
        )
        UPDATE tally_heads t SET through = h.head FROM tenant_heads h
            WHERE t.tenant_id = p_tenant AND h.tenant_id = p_tenant;
        RETURN NEXT;
        RETURN;
    END IF;

    SELECT count(*), CASE WHEN count(*) = p_most THEN max(n.resource_version) ELSE (
        SELECT h.head FROM tenant_heads h WHERE h.tenant_id = p_tenant
    ) END INTO v_read, v_last FROM (
        SELECT e.resource_version FROM events e
        WHERE e.tenant_id = p_tenant AND e.resource_version > v_through
        ORDER BY e.resource_version LIMIT p_most
    ) n;
    MERGE INTO tallies t USING (
        SELECT s.space, e.api_group, e.resource,
            sum(CASE e.type WHEN 'A' THEN 1 ELSE -1 END) AS more
        FROM events e CROSS JOIN LATERAL (VALUES ('', true), (e.namespace, e.namespace <> ''))
            AS s (space, meant)
        WHERE e.tenant_id = p_tenant AND e.resource_version > v_through
            AND e.resource_version <= v_last AND e.type <> 'M' AND s.meant
        GROUP BY 1, 2, 3
    ) c ON t.tenant_id = p_tenant AND t.namespace = c.space AND t.api_group = c.api_group
        AND t.resource = c.resource
    WHEN MATCHED AND t.number + c.more = 0 THEN DELETE
    WHEN MATCHED THEN UPDATE SET number = t.number + c.more
    WHEN NOT MATCHED AND c.more <> 0 THEN
        INSERT (tenant_id, namespace, api_group, resource, number)
        VALUES (p_tenant, c.space, c.api_group, c.resource, c.more);
    -- A compaction that came in between may have taken away what was to be read: the next call
    -- counts anew.
    UPDATE tally_heads t SET through = CASE WHEN h.compacted > v_through THEN 0 ELSE v_last END
        FROM tenant_heads h WHERE t.tenant_id = p_tenant AND h.tenant_id = p_tenant
        RETURNING t.through INTO v_through;
    done := v_read < p_most AND v_through > 0;
    RETURN NEXT;
END
$$;

-- How many objects the tenant has of each resource: in all, and in a namespace ('': in all, too).
-- Of one state, which is not older than the call: STABLE, so that all statements see what the
-- caller's does.
CREATE OR REPLACE FUNCTION pp_tallied(p_tenant bigint, p_namespace text)
RETURNS TABLE (api_group text, resource text, whole bigint, within bigint)
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_through bigint;
BEGIN
    PERFORM set_config('polyplane.tenant', p_tenant::text, true);
    SELECT t.through INTO v_through FROM tally_heads t
        JOIN tenant_heads h ON h.tenant_id = t.tenant_id
        WHERE t.tenant_id = p_tenant AND t.through >= h.compacted;
    IF NOT FOUND THEN
        RETURN QUERY SELECT o.api_group, o.resource, count(*),
            count(*) FILTER (WHERE p_namespace IN ('', o.namespace))
            FROM objects o WHERE o.tenant_id = p_tenant GROUP BY 1, 2;
        RETURN;
    END IF;
    RETURN QUERY SELECT c.g, c.r, sum(c.w)::bigint, sum(c.i)::bigint FROM (
        SELECT t.api_group, t.resource,
            CASE t.namespace WHEN '' THEN t.number ELSE 0 END,
            CASE t.namespace WHEN p_namespace THEN t.number ELSE 0 END
        FROM tallies t WHERE t.tenant_id = p_tenant AND t.namespace IN ('', p_namespace)
        UNION ALL
        SELECT e.api_group, e.resource, s.n,
            CASE WHEN p_namespace IN ('', e.namespace) THEN s.n ELSE 0 END
        FROM events e CROSS JOIN LATERAL (SELECT CASE e.type WHEN 'A' THEN 1 ELSE -1 END) AS s (n)
        WHERE e.tenant_id = p_tenant AND e.resource_version > v_through AND e.type <> 'M'
    ) AS c (g, r, w, i) GROUP BY 1, 2;
END
$$;
