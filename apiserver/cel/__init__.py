"""Kubernetes CEL: parser, type checker, interpreter that counts cost, static cost estimates, libraries. Pure: no Django, no I/O.

The way of an expression: `parser` (text → `ast`, macros expanded; `syntaxerrors` words what does not parse) → `checker` (types and
overloads into the tree) → `validators` (literal durations, patterns, format calls) → `plan*` (closures over plain Python values; costs
known beforehand are charged in bulk) → `program.Program`. Beside it `estimate` walks the checked tree for the greatest possible cost.

For callers:

- `environments.BASE`: the `env.Env` with all of Kubernetes 1.36's libraries; ``BASE.extend(variables, structs)`` declares variables.
  Environments are immutable; keep and share them, because the compile cache goes by their identity.
- ``program.compile(env, source) -> Program | list[CompileError]`` (cached), ``program.error_text(source, errors)`` for cel-go's text.
- ``Program.evaluate(bindings, budget=1_000_000)`` gives a value, or raises `errors.EvalError`, or `errors.BudgetExceeded`;
  ``evaluate_with_cost`` adds the units spent. Values: None, bool, int, float, str, bytes, list and dict stand for themselves; the rest
  are in `values` (Uint, Timestamp, Duration, Optional, Map).
- ``rulecompile.estimate(program, size_of)``: the static estimate.
- Rules of CRD schemas: ``rulecheck.check_rules(schema, path)`` when a definition is written; ``rules.compile_rules(schema)`` and
  ``rules.validate(node, obj, old, path, budget)`` when an object is. Admission: `policies`, `patchtypes`, `library.authorizer`.

Importing `program` raises the interpreter's recursion limit to 10,000: the deepest trees that the parser lets through need a few thousand
Python frames (which take no C stack).
"""
