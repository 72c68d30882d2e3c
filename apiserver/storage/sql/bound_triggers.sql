-- Whatever writes a binding keeps bound_subjects (bound.sql): pp_commit of this release and of the
-- one before, which may still be waiting for a tenant's lock while the triggers are made, and the
-- deletion of tenants. For all other objects the condition is looked at, and nothing else done.
CREATE TRIGGER bound_added AFTER INSERT ON objects FOR EACH ROW WHEN (
    NEW.api_group = 'rbac.authorization.k8s.io'
    AND NEW.resource IN ('rolebindings', 'clusterrolebindings')
) EXECUTE FUNCTION pp_bound();

CREATE TRIGGER bound_changed AFTER UPDATE OF data, uid ON objects FOR EACH ROW WHEN (
    NEW.api_group = 'rbac.authorization.k8s.io'
    AND NEW.resource IN ('rolebindings', 'clusterrolebindings')
) EXECUTE FUNCTION pp_bound();

CREATE TRIGGER bound_removed AFTER DELETE ON objects FOR EACH ROW WHEN (
    OLD.api_group = 'rbac.authorization.k8s.io'
    AND OLD.resource IN ('rolebindings', 'clusterrolebindings')
) EXECUTE FUNCTION pp_bound();
