/* What can be done to objects besides editing them: each action's question to the authorizer, its
   form, and its request for one object. */

import { api, pathOf } from "../lib/api.js";
import { forget } from "../lib/counts.js";
import { toType as typeIt } from "../lib/dialog.js";
import { h, replace } from "../lib/dom.js";
import { holdings } from "../lib/holdings.js";
import { number } from "../lib/units.js";
import { autoscalersOf, scalingManagers } from "./autoscalers.js";
import { PROPAGATION, canRestart, mark, parseMarks, remove, restart, scale, toType } from "./requests.js";
import { fetchObject } from "./wire.js";

/** {name, label, verb, subresource, danger, fits(resource), form(resource, objects, tenant), many}.
    form gives {nodes, request(object), ready()}: request may be a promise, and throws NotPossible.
    many: whether it is offered for several objects at a time. */
export const ACTIONS = [
  {
    name: "scale", label: "Scale", verb: "patch", subresource: "scale", many: true,
    fits: (resource) => resource.subresources.includes("scale"),
    form: scaling,
  },
  {
    name: "restart", label: "Restart", verb: "patch", many: true, fits: canRestart, form: restarting,
  },
  {
    name: "label", label: "Label", verb: "patch", many: true,
    fits: (resource) => resource.verbs.includes("patch"),
    form: (_, objects) => marking("labels", objects),
  },
  {
    name: "annotate", label: "Annotate", verb: "patch", many: true,
    fits: (resource) => resource.verbs.includes("patch"),
    form: (_, objects) => marking("annotations", objects),
  },
  {
    name: "delete", label: "Delete", verb: "delete", many: true, danger: true,
    fits: (resource) => resource.verbs.includes("delete"),
    form: deleting,
  },
];

function scaling(resource, objects, tenant) {
  let typed = false;
  const count = h("input", { type: "number", min: "0", step: "1", required: true, autofocus: true,
    oninput: () => (typed = true) });
  const was = h("span", {});
  const tell = (now) => {
    if (!Number.isInteger(now)) return;
    replace(was, ` (now ${now})`);
    if (typed) return;
    count.value = String(now);
    if (document.activeElement === count) count.select(); // what is typed takes its place
  };
  if (objects.length === 1) {
    const [{ metadata, spec }] = objects;
    tell(spec?.replicas);
    // a definition may keep them elsewhere, and what a list has of an object is its metadata
    const path = pathOf(resource, { ...metadata, subresource: "scale" });
    api(tenant).get(path).then((scaled) => tell(scaled.spec?.replicas ?? 0), () => {});
  }
  return {
    nodes: [h("label", { class: "field" }, h("span", {}, "Replicas", was), count),
      scaledOtherwise(resource, objects, tenant)],
    ready: () => /^\d+$/.test(count.value),
    request: () => scale(Number(count.value)),
  };
}

/** Says who will set the replicas anew; what cannot be found out is not told. */
function scaledOtherwise(resource, objects, tenant) {
  const said = h("div", { role: "status" });
  const managers = [...new Set(objects.flatMap(scalingManagers))];
  const controllers = [...new Set(objects.flatMap(({ metadata }) => metadata.ownerReferences ?? [])
    .filter((owner) => owner.controller).map(({ kind, name }) => `${kind} ${name}`))];
  const tell = (hpas) => {
    const owned = managers.length ? `${managers.join(", ")} owns replicas` : "";
    const target = hpas.length ? `HorizontalPodAutoscaler ${hpas.join(", ")} scales this` : "";
    const above = controllers.length ? `${controllers.join(", ")} controls this` : "";
    const whose = [owned, target, above].filter(Boolean).join(", ");
    if (whose) replace(said, h("p", { class: "warn" }, `${whose}: it may soon be set back.`));
  };
  tell([]);
  autoscalersOf(tenant, resource, objects).then(tell, () => {});
  return said;
}

function restarting(resource) {
  const asked = resource;
  return {
    nodes: h("p", {}, "Its pods are replaced as the update strategy says, as with ",
      h("code", {}, "kubectl rollout restart"), "."),
    ready: () => true,
    request: async (object, tenant) => {
      const { namespace, name } = object.metadata;
      const whole = object.spec ? object : await fetchObject(tenant, asked, { namespace, name });
      return restart(whole, new Date());
    },
  };
}

function marking(field, objects) {
  const there = objects.length === 1 ? objects[0].metadata[field] ?? {} : {};
  const shown = Object.keys(there).filter((name) => there[name].length < 200 && !there[name].includes("\n"));
  const text = h("textarea", { rows: "4", spellcheck: "false", autofocus: true, required: true,
    placeholder: "name=value\nname-" });
  const overwrite = h("input", { type: "checkbox" });
  return {
    nodes: [
      h("label", { class: "field" }, `${field === "labels" ? "Labels" : "Annotations"}: name=value sets one, name- takes it away`, text),
      h("label", {}, overwrite, " Overwrite other values"),
      shown.length ? h("p", { class: "muted" }, "It has ", shown.map((name, at) =>
        [at ? ", " : "", h("code", {}, `${name}=${there[name]}`)])) : null,
    ],
    ready: () => text.value.trim() !== "",
    request: (object) => mark(object, field, parseMarks(text.value), { overwrite: overwrite.checked }),
  };
}

const MEANT = {
  Background: "it goes at once, what it owns goes after it",
  Foreground: "it goes once what it owns has gone",
  Orphan: "what it owns stays",
};

function deleting(resource, objects, tenant) {
  const wanted = toType(resource, objects);
  const within = isNamespace(resource);
  const typed = wanted && h("input", { type: "text", autocomplete: "off", spellcheck: "false",
    autofocus: true, "aria-label": `Type ${wanted} to confirm` });
  const choices = PROPAGATION.map((name) => h("label", {}, h("input", { type: "radio",
    name: "propagation", value: name, checked: name === "Background" }), ` ${name} `,
    h("span", { class: "muted" }, `– ${MEANT[name]}`)));
  const held = objects.filter(({ metadata }) => metadata.finalizers?.length).length;
  return {
    nodes: [
      // what is in a namespace is not what it owns: no choice spares it
      within ? null : h("fieldset", {}, h("legend", {}, "Dependents"), choices),
      held ? h("p", { class: "warn" }, `${held === 1 && objects.length === 1 ? "It has" : `${held} have`} `
        + "finalizers: what is deleted stays until their controllers let it go.") : null,
      losses(resource, objects, tenant),
      wanted ? h("label", { class: "field" }, typeIt(wanted), typed) : null,
    ],
    ready: () => !wanted || typed.value === wanted,
    request: (object) => remove(object, {
      propagation: choices.map((c) => c.firstChild).find((input) => input.checked).value }),
  };
}

function isNamespace({ group, resource }) {
  return group === "" && resource === "namespaces";
}

function losses(resource, objects, tenant) {
  if (isNamespace(resource)) return contents(objects, tenant);
  if (resource.resource === "customresourcedefinitions" && resource.group === "apiextensions.k8s.io") {
    return h("p", { class: "bad" }, "All objects of its kind are deleted, too.");
  }
  return null;
}

/** What goes with namespaces: for one it is counted. */
function contents(objects, tenant) {
  const said = h("p", { class: "bad", role: "status" }, "Everything in it is deleted, too.");
  if (objects.length > 1) return said;
  forget(); // as it is now
  holdings(tenant, objects[0].metadata.name).then(({ kinds, hidden }) => {
    const counted = kinds.map(({ resource, count }) => `${number(count)} ${resource.kind}`);
    const more = hidden ? ["what you may not list"] : [];
    if (!counted.length && !hidden) replace(said, "There is nothing in it.");
    else replace(said, `Everything in it is deleted, too: ${[...counted, ...more].join(", ")}.`);
  }, () => {}); // who may not count is told what there is to fear all the same
  return said;
}
