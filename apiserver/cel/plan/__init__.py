"""From a checked tree to closures over plain Python values, which count their cost; `program` is
the way in."""
