-- audit_entries: who did what. One row for each version of an object, inserted by the commit that
-- made it (commit.sql), and rows for what changed nothing: refusals, failed authentication, and
-- whatever else the policy asks for (audit.sql).
--
--   tenant_id         NULL for what got to no tenant
--   at                of a version the time of its event (events.at), so that the one is found from
--                     the other by the index below
--   resource_version  of the object version that it made, 0 for none
--   api_group .. name the object's key as stored; of what made no version, as it was asked for
--   data              the audit.k8s.io/v1 Event of stage ResponseComplete, as text
--
-- Nobody changes a row. Old days go as whole partitions (pp_keep_audit); row by row goes only what
-- is in the default partition, which takes what comes when nobody has made the day's.
CREATE TABLE audit_entries (
    id uuid NOT NULL DEFAULT gen_random_uuid(),
    tenant_id bigint,
    at timestamptz NOT NULL,
    resource_version bigint NOT NULL,
    user_name text NOT NULL,
    verb text NOT NULL,
    code integer NOT NULL,
    api_group text COLLATE "C" NOT NULL,
    resource text COLLATE "C" NOT NULL,
    namespace text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    data json NOT NULL
) PARTITION BY RANGE (at);

CREATE INDEX audit_entries_by_time ON audit_entries (tenant_id, at);

CREATE TABLE audit_entries_other PARTITION OF audit_entries DEFAULT;
-- Rows are reached through the parent, whose wall decides; whoever asks a partition gets nothing.
ALTER TABLE audit_entries_other ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
