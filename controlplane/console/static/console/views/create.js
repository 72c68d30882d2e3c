// A new object, from what is usual for its kind or what its schema requires.

import { kindOf } from "./edit.js";
import { isReport, template } from "../change/templates.js";
import { Creation } from "../change/session.js";
import { print } from "../change/text.js";
import { readOnly, right, styled } from "../change/ui.js";
import { Workbench } from "../change/workbench.js";
import { groupPart, resourceOf, resources } from "../lib/discovery.js";
import { h } from "../lib/dom.js";
import { address, go, pathOf } from "../lib/router.js";

const USUAL = ["configmaps", ""];

export default async function create({ tenant, params, query, root, signal }) {
  const [plural, group] = params.resource ? [params.resource, params.group] : USUAL;
  const resource = await resourceOf(tenant, group, plural);
  if (!resource?.verbs.includes("create")) {
    root.append(h("p", {}, `In tenant ${tenant} no ${plural}.${group} can be created.`));
    return;
  }
  const namespace = resource.namespaced ? query.get("namespace") || "default" : "";
  const [kind, answer, all] = await Promise.all([
    kindOf(tenant, resource), right({ tenant, resource, namespace }, { verb: "create" }),
    resources(tenant), styled()]);
  const controls = picker(tenant, all, resource, query);
  if (!answer.allowed) {
    root.append(h("h1", {}, `New ${resource.kind}`), controls, readOnly(tenant, [["Create", answer]]));
    return;
  }
  const list = ["t", tenant, groupPart(resource), resource.resource];
  new Workbench(root, new Creation(kind, namespace), {
    title: `New ${resource.kind}`,
    text: print(template(resource, namespace, kind.schemas, kind.node)),
    back: address(...list),
    stored: ({ metadata }) => pathOf(...list, metadata.namespace || "-", metadata.name),
    verb: "Create",
    controls,
    signal,
  });
}

/** Every kind of which one can create objects. */
function picker(tenant, all, current, query) {
  const made = all.filter((one) => one.verbs.includes("create") && one.verbs.includes("get") && !isReport(one))
    .sort((a, b) => a.kind.localeCompare(b.kind));
  const value = (one) => `${groupPart(one)}/${one.resource}`;
  const chosen = async ({ target }) => {
    const namespace = query.get("namespace");
    const rest = namespace ? `?${new URLSearchParams({ namespace })}` : "";
    await go(pathOf("t", tenant, ...target.value.split("/"), "new") + rest);
    target.value = value(current); // where the reader would rather stay
  };
  return h("select", { class: "kind-picker", "aria-label": "Kind", onchange: chosen },
    made.map((one) => h("option", { value: value(one), selected: value(one) === value(current) },
      one.group ? `${one.kind} (${one.group})` : one.kind)));
}
