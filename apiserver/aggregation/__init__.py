"""API servers of a tenant's own, behind this one: APIServices that name a Service of the tenant
(kube-aggregator)."""
