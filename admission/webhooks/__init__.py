"""Calls of webhooks, of admission and of conversion alike.

- Whether one is asked: `hooks` (those of a tenant), `conditions`; `versions` has its objects ready.
- The question and its answer: `call` makes one of them, `review`, `patches`, `denial`; `observer`
  counts.
- The way there: `client`, `target` (a clientConfig), `services`, `names` (resolving), `addresses`
  (which are refused, so that no tenant reaches what only this server may reach), `tls`,
  `connection`, `answers`, `errors`.
"""
