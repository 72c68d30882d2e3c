-- Bound subjects: whom the RoleBindings and ClusterRoleBindings of all tenants name
-- (models.BoundSubject), so that somebody can be told in which tenants he is bound without a look
-- at each of them (controlplane/tenancy/owntenants.py). Kept by triggers on objects
-- (bound_triggers.sql), within the transaction that writes the binding, whoever writes it.

-- The subjects of a binding in the namespace p_namespace ('': cluster-wide), each once, as
-- Kind:name; of a ServiceAccount Kind:namespace:name. Left out are:
--
--   names that begin with system:   components of Kubernetes, and groups that everybody is in
--                                   (system:authenticated): what each tenant grants to these makes
--                                   nobody a user of it
--   service accounts that bindings of every tenant name (kubernetes.io/bootstrapping): they are no
--                                   more than a tenant's own controllers
--   names of more than 512 characters, which an index cannot hold
CREATE OR REPLACE FUNCTION pp_subjects(p_binding jsonb, p_namespace text) RETURNS text[]
LANGUAGE sql IMMUTABLE AS $$
    SELECT coalesce(array_agg(DISTINCT s.kind || ':' || s.place || s.name), '{}') FROM (
        SELECT e ->> 'kind' AS kind, e ->> 'name' AS name, CASE e ->> 'kind'
            WHEN 'ServiceAccount' THEN coalesce(nullif(e ->> 'namespace', ''), p_namespace) || ':'
            ELSE '' END AS place
        FROM jsonb_array_elements(
            CASE jsonb_typeof(p_binding -> 'subjects')
                WHEN 'array' THEN p_binding -> 'subjects' ELSE '[]' END
        ) AS e
    ) AS s WHERE length(s.place || s.name) BETWEEN 1 AND 512 AND CASE s.kind
        WHEN 'User' THEN NOT starts_with(s.name, 'system:')
        WHEN 'Group' THEN NOT starts_with(s.name, 'system:')
        WHEN 'ServiceAccount' THEN p_binding #> '{metadata,labels,kubernetes.io/bootstrapping}'
            IS NULL
        ELSE false END
$$;

-- The binding by which the tenant's owners are bound (controlplane/tenancy/controller.py) says
-- nothing that its row does not say.
--
-- SECURITY DEFINER, as the owner of the tables: workers write bindings while a migration is under
-- way, before they are granted anything on the table. The wall stands for the owner as well.
CREATE OR REPLACE FUNCTION pp_bound() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    v_has text[] := '{}';
    v_had text[];
BEGIN
    IF TG_OP <> 'INSERT' AND (TG_OP = 'DELETE' OR NEW.uid <> OLD.uid) THEN
        DELETE FROM bound_subjects b WHERE b.tenant_id = OLD.tenant_id AND b.uid = OLD.uid;
    END IF;
    IF TG_OP = 'DELETE' THEN
        RETURN NULL;
    END IF;
    IF NEW.resource <> 'clusterrolebindings' OR NEW.name <> 'polyplane:owners' THEN
        v_has := pp_subjects(NEW.data, NEW.namespace);
    END IF;
    IF TG_OP = 'INSERT' THEN  -- as dozens of a new tenant are, which name nobody
        INSERT INTO bound_subjects (tenant_id, uid, subject)
            SELECT NEW.tenant_id, NEW.uid, unnest(v_has) ON CONFLICT DO NOTHING;
        RETURN NULL;
    END IF;
    -- Only what differs is written. EXCEPT, since it takes no longer than sorting both, whatever
    -- the planner expects: a binding may have tens of thousands of subjects.
    v_had := ARRAY(
        SELECT b.subject FROM bound_subjects b
        WHERE b.tenant_id = NEW.tenant_id AND b.uid = NEW.uid
    );
    DELETE FROM bound_subjects b WHERE b.tenant_id = NEW.tenant_id AND b.uid = NEW.uid
        AND b.subject = ANY(ARRAY(SELECT unnest(v_had) EXCEPT SELECT unnest(v_has)));
    INSERT INTO bound_subjects (tenant_id, uid, subject)
        SELECT NEW.tenant_id, NEW.uid, m.subject
        FROM (SELECT unnest(v_has) EXCEPT SELECT unnest(v_had)) AS m (subject);
    RETURN NULL;
END
$$;

-- Gathers what the bindings of a tenant say that were there before the triggers; harmless when it
-- is done again. Under the tenant's lock, which its writers wait for.
CREATE OR REPLACE FUNCTION pp_bind_tenant(p_tenant bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(5786, hashint8(p_tenant));
    PERFORM set_config('polyplane.tenant', p_tenant::text, true);
    INSERT INTO bound_subjects (tenant_id, uid, subject)
        SELECT o.tenant_id, o.uid, s.subject
        FROM objects o CROSS JOIN LATERAL unnest(pp_subjects(o.data, o.namespace)) AS s (subject)
        WHERE o.tenant_id = p_tenant AND o.api_group = 'rbac.authorization.k8s.io' AND (
            o.resource = 'rolebindings'
            OR o.resource = 'clusterrolebindings' AND o.name <> 'polyplane:owners'
        )
        ON CONFLICT DO NOTHING;
END
$$;

-- The tenants that have a binding of one of the subjects, some more than once; for who sees all
-- tenants. Where there are many rows they are not all read: from tenant to tenant along the index
-- the time goes by how many tenants there are, not by how many bindings a tenant has made of one
-- subject. Settings: without statistics the planner would gather and sort all rows of a subject for
-- each of its tenants.
CREATE OR REPLACE FUNCTION pp_bound_in(p_subjects text[]) RETURNS TABLE (tenant_id bigint)
LANGUAGE plpgsql STABLE
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off AS $$
DECLARE
    c_many CONSTANT integer := 20000;
    v_tenants bigint[];
    v_rows integer;
    v_subject text;
BEGIN
    SELECT count(*), array_agg(DISTINCT n.tenant_id) INTO v_rows, v_tenants FROM (
        SELECT b.tenant_id FROM bound_subjects b WHERE b.subject = ANY(p_subjects) LIMIT c_many
    ) AS n;
    IF v_rows < c_many THEN
        RETURN QUERY SELECT unnest(v_tenants);
        RETURN;
    END IF;
    FOREACH v_subject IN ARRAY p_subjects LOOP
        tenant_id := 0;
        LOOP
            SELECT b.tenant_id INTO tenant_id FROM bound_subjects b
                WHERE b.subject = v_subject AND b.tenant_id > pp_bound_in.tenant_id
                ORDER BY b.tenant_id LIMIT 1;
            EXIT WHEN NOT FOUND;
            RETURN NEXT;
        END LOOP;
    END LOOP;
END
$$;
