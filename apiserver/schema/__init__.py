"""Shapes of objects, and what reading, completing and checking them by their shape means.

- `types` is the tree; `builtin` and `definitions` make it of the package's data, `structural` of a
  definition's schema (`structural_rules`: what that may hold).
- Built-in types: `decode` (as Go's structs do), `order`, `empties`, `stored`, `restore`.
- Custom resources: `prune` (decoding: unknown members go, or stay), `embedded`, `defaults`,
  `prunedefaults`, `validate`, `listtypes`, `formats`, `correlate` (for rules about transitions).
"""
