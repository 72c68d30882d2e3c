"""Kubernetes CEL: parser, type checker, interpreter that counts cost, static cost estimates,
libraries. Pure: no Django, no I/O.

Packages, each of which may import those after it only (import-linter sees to it):

- `kubernetes`: its environment (`environments`), rules of definitions, policies, device selectors;
- `plan`: closures over plain Python values; costs known beforehand are charged in bulk. `program`
  compiles and evaluates: the way in;
- `check`: types and overloads into the tree, then literal durations, patterns, format calls;
- `library`: functions, one module a library;
- `env`: what an expression may refer to;
- `cost`: of calls at run time, and the estimate of the greatest possible cost of a checked tree;
- `syntax`: text → `ast`, macros expanded; `syntaxerrors` words what does not parse;
- `decls`, `numbers`, `timestamps`, `values`, `errors`, `types`: the vocabulary of them all.

For callers:

- `kubernetes.environments.BASE`: the `env.Env` with all of Kubernetes 1.36's libraries;
  ``BASE.extend(variables, structs)`` declares variables. Environments are immutable; keep and share
  them, because the compile cache goes by their identity.
- ``plan.program.compile(env, source) -> Program | list[CompileError]`` (cached),
  ``error_text(source, errors)`` for cel-go's text.
- ``Program.evaluate(bindings, budget=1_000_000)`` gives a value, or raises `errors.EvalError`, or
  `errors.BudgetExceeded`; ``evaluate_with_cost`` adds the units spent. Values: None, bool, int,
  float, str, bytes, list and dict stand for themselves; the rest are in `values` (Uint, Timestamp,
  Duration, Optional, Map).
- ``kubernetes.rulecompile.estimate(program, size_of)``: the static estimate.
- Rules of CRD schemas: ``kubernetes.rulecheck.check_rules(schema, path)`` when a definition is
  written; ``kubernetes.rulenodes.compile_rules(schema)`` and ``kubernetes.rules.validate`` when an
  object is. Admission: `kubernetes.policies`, `kubernetes.patchtypes`,
  `library.authorizer`.

Importing `plan.program` raises the interpreter's recursion limit to 10,000: the deepest trees that
the parser lets through need a few thousand Python frames (which take no C stack).
"""
