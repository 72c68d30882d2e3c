"""kubectl-polyplane: a plugin of kubectl, installed with the package.

It asks through kubectl itself, so that it speaks to whatever kubectl speaks to and logs in as
kubectl does; nothing of the server is imported here.

- `command`: what is typed. `client`: how kubectl is called, and where the tenant is.
- `show`: tables, differences, and YAML with a gutter. `gutter`: which line is which field.
"""
