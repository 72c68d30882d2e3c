"""The state of tenants in use, in memory, and everybody who watches it.

`watches` is the way in. A `tail` follows one tenant's log and applies it to a `cache` for each
resource; a `hub` hands what changed (`entry`) to each `subscription`. `board` tells the workers of
one machine of changes that decide about requests; `turnover` bounds what slow readers keep alive.
"""
