"""Tenants and operators' tokens: `service` and `tokens` write them, `directory` answers requests.

`expiry` says how long, `apiserver.tenantnames` what a tenant may be called. Defaults of all limits:
`service.DEFAULTS`. The keys that sign account tokens are in `accountkeys`, the identity providers
that tenants trust in `authentication`.
"""
