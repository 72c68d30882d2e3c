"""Declarative validation: rules that stand as data beside a kind, named as the ``+k8s:`` tags of
Kubernetes.

`rules.py` says what a rule is, the files named after families of tags hold the tags (`tags.py`
lists them all), `tree.py` compiles the rules of a kind against its schema, `declared.py` is what a
kind carries, `run.py` puts declared and hand-written errors together. Sources: kubernetes.io
"Declarative API Validation", k8s.io/code-generator ``validation-gen``, k8s.io/apimachinery
``api/validate``.
"""
