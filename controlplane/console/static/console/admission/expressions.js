// Policies' expressions, and the review that tries them out. Pure.

const PATCHES = { ApplyConfiguration: "applyConfiguration", JSONPatch: "jsonPatch" };

/** All that a policy evaluates, each {name, expression}. */
export function expressionsOf({ spec }) {
  const one = (name, expression) => (expression ? [{ name, expression }] : []);
  return [
    ...(spec.matchConditions ?? []).flatMap(({ name, expression }) => one(`condition ${name}`, expression)),
    ...(spec.validations ?? []).flatMap(({ expression, messageExpression }, at) => [
      ...one(`validation ${at + 1}`, expression),
      ...one(`message ${at + 1}`, messageExpression),
    ]),
    ...(spec.auditAnnotations ?? []).flatMap(({ key, valueExpression }) =>
      one(`annotation ${key}`, valueExpression)),
    ...(spec.mutations ?? []).flatMap((mutation, at) =>
      one(`mutation ${at + 1}`, mutation[PATCHES[mutation.patchType]]?.expression)),
  ];
}

/** The spec of an ExpressionReview. policy: undefined for an expression of one's own; resource: of
 *  the object. */
export function specOf({ policy, expression, object, params, operation, resource }) {
  const own = [{ name: "expression", expression }];
  const { namespace, name } = object?.metadata ?? {};
  const { group, version, kind, resource: plural } = resource ?? {};
  const spec = {
    expressions: policy ? expressionsOf(policy) : own,
    request: given({ operation, group, version, kind, resource: plural, namespace, name }),
  };
  if (policy?.spec.variables) spec.variables = policy.spec.variables;
  if (!policy || policy.spec.mutations) spec.mutation = true;
  if (params !== undefined || policy?.spec.paramKind) spec.params = params ?? null;
  const there = object ?? null;
  return operation === "CREATE"
    ? { ...spec, object: there }
    : { ...spec, oldObject: there, ...(operation === "UPDATE" ? { object: there } : {}) };
}

function given(members) {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value));
}
