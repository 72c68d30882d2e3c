/* The buttons of changes on others' pages: those that the authorizer allows, why not beside the
   others, and nothing to press for somebody who may change nothing. */

import { groupPart } from "../lib/discovery.js";
import { h, replace } from "../lib/dom.js";
import { contribute } from "../lib/parts.js";
import { address, go, pathOf } from "../lib/router.js";
import { ACTIONS } from "./actions.js";
import { perform } from "./perform.js";
import { isReport } from "./templates.js";
import { guarded, readOnly, right, styled } from "./ui.js";

const MOST_NAMESPACES = 8;

contribute("object:tools", ({ tenant, resource, object, current }) => (
  object ? objectBar(tenant, resource, object, current) : null));
contribute("list:selected", ({ tenant, resource, objects, clear }) => selectionBar(tenant, resource, objects, clear));
contribute("list:tools", ({ tenant, resource, namespace }) => newButton(tenant, resource, namespace));

/** Edit, and every action that fits, for one object. */
function objectBar(tenant, resource, object, current) {
  const { namespace = "", name } = object.metadata;
  const about = { tenant, resource, namespace, name };
  const parts = ["t", tenant, groupPart(resource), resource.resource, namespace || "-", name];
  const edit = { name: "edit", label: "Edit", verb: "patch" };
  const fitting = [resource.verbs.includes("patch") && edit, ...ACTIONS.filter((a) => a.fits(resource))].filter(Boolean);
  return bar(tenant, fitting, (action) => right(about, action), (action) => (
    action === edit ? go(`${pathOf(...parts)}/edit`) : perform(action, about, [current()])));
}

/** What can be done to several objects; the server has the last word about each. */
function selectionBar(tenant, resource, objects, clear) {
  const fitting = ACTIONS.filter((action) => action.many && action.fits(resource));
  const act = async (action) => {
    if (await perform(action, { tenant, resource }, objects) && action.danger) clear();
  };
  return bar(tenant, fitting, (action) => rightForAny(tenant, resource, objects, action), act);
}

/** Where the rights differ between namespaces, a button stands for those in which one may. */
async function rightForAny(tenant, resource, objects, action) {
  const [{ metadata }] = objects;
  const namespaces = [...new Set(objects.map((o) => o.metadata.namespace ?? ""))].slice(0, MOST_NAMESPACES);
  const name = objects.length === 1 ? metadata.name : "";
  const answers = await Promise.all(namespaces.map((namespace) => (
    right({ tenant, resource, namespace, name }, action))));
  return answers.find((answer) => answer.allowed) ?? answers[0];
}

function bar(tenant, actions, ask, act) {
  const element = h("span", { class: "change-bar" });
  const fill = async () => {
    const answers = await Promise.all(actions.map(ask));
    await styled();
    const refused = actions.map((action, at) => [action.label, answers[at]]).filter(([, a]) => !a.allowed);
    if (actions.length && refused.length === actions.length) replace(element, readOnly(tenant, refused));
    else {
      replace(element, actions.map((action, at) => guarded(tenant, action.label, answers[at], {
        class: action.danger ? "danger" : "", "data-action": action.name, onclick: () => act(action) })));
    }
  };
  fill().catch((error) => replace(element, h("span", { class: "bad" }, error.message)));
  return element;
}

function newButton(tenant, resource, namespace) {
  if (!resource.verbs.includes("create") || isReport(resource)) return null;
  const place = h("span", { class: "change-bar" });
  right({ tenant, resource, namespace }, { verb: "create" }).then(async (answer) => {
    if (!answer.allowed) {
      await styled();
      replace(place, guarded(tenant, `New ${resource.kind}`, answer, {}));
      return;
    }
    const query = namespace ? `?${new URLSearchParams({ namespace })}` : "";
    const href = `${address("t", tenant, groupPart(resource), resource.resource, "new")}${query}`;
    await styled();
    replace(place, h("a", { class: "button", "data-action": "new", href }, `New ${resource.kind}`));
  }).catch(() => {}); // the list beside it says what is wrong
  return place;
}
