"""What the verbs do with objects, between the endpoints and storage.

- Reading: `reading` (get and list), `watching`, `selection` (selectors), `continuation` (pages).
- Writing: `create`, `update`, `patching`, `deletion` and `collection` begin, `write` is the
  pipeline that all of them go through. Within it `changes` and `patchtypes` say how a new object
  comes about, `targets` which part of it may change, `objectmeta` what the server fills in,
  `mutation` and `rights` what surrounds admission, `preconditions` which state a client expects.
- Versions: `versions` between the request's and the stored one, `conversion` by webhooks.
- Definitions of tenants: `customcatalog`, `definitions`, `definitionnames`, `customfields`.
- Large objects: `offload` (which work leaves the loop), `turns`, `endable`, `weight`.
- What they share: `core` (the Registry), `scope` (what an operation is about), `result`, `options`,
  `bounds`; `translate` makes Status errors of storage's.
"""
