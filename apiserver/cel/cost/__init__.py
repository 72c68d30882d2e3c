"""What expressions cost: `runtime` what a call costs while it runs, `estimate` the most that a tree
can cost, both as upstream counts it."""
