"""Who owns which field: managed fields on update and apply, as structured-merge-diff and
kube-apiserver keep them.

Leaves first: fieldpath (paths and sets), values (JSON values as Go sees them), types (what the
schema means for merging), typed, compare, combine, remove, reconcile (operations on typed values),
updater (update and apply with conflicts), managed (metadata.managedFields), lastapplied, reset,
scale, names, manager (the way in: FieldManager).
"""
