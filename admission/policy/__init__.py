"""Admission policies: ValidatingAdmissionPolicy and MutatingAdmissionPolicy (k8s.io/apiserver
``admission/plugin/policy``).

One request goes through these modules, each of which may import those before it:

- `compiled`: a policy's expressions, compiled when they are first needed and shared by all tenants;
- `hooks`: which policies a tenant has, with their bindings, read from its watch caches;
- `candidates`: which of them requests of one shape are meant by;
- `params`: the parameters of a binding;
- `observer`: what is counted of all this;
- `decisions`: what expressions ask the authorizer;
- `dispatch`: the policies, bindings and parameters that a request is meant by, and what their
  expressions can see of it;
- `validating`, and `patches` and `mutating`: the two plugins.

What may take long runs through `Lookup.run`: on the event loop for some milliseconds, then beside
it. So work below it is pure, and begins anew where it was broken off.
"""
