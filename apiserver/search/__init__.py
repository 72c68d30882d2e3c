"""Search over the objects of a tenant, of all kinds, and their numbers: search.polyplane.dev/v1.

- `words`: what is searched of an object, and what it means that a text is found there. Pure.
- `terms`: the same as words for the database's index, which may find too much and never too little.
- `question`: what is asked, checked.
- `rights`: where whoever asks may list. `searching`: page by page through what the index finds.
- `counting`: how many objects there are of each resource (ObjectCount).
- `indexer`: keeps the index behind the log, beside all requests.

What is promised: docs/questions.md; why it is built so:
docs/decisions/0014-search-by-an-index-behind-the-log.md.
"""
