"""Tenants and operators' tokens: `service` and `tokens` write them, `directory` answers requests.

`names` and `expiry` say what is allowed. Defaults of all limits: `service.DEFAULTS`. The keys that
sign account tokens are in `accountkeys`, the identity providers that tenants trust in
`authentication`.
"""
