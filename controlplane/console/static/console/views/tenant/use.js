// What a tenant uses of what it may, and what goes on in it: for those who may see that.

import { h, replace } from "../../lib/dom.js";
import { fact } from "../../lib/facts.js";
import { panel, table } from "../../lib/plain.js";
import { rates } from "../../lib/rates.js";
import { address } from "../../lib/router.js";
import { bytes, number } from "../../lib/units.js";
import { share } from "../tenants.js";

const USES = [
  ["Objects", "objects", number],
  ["Bytes", "bytes", bytes],
  ["Bytes of history", "logBytes", bytes],
  ["Bytes written this hour", "hourBytes", bytes],
];

/** An element that fills itself; it stays empty for who neither owns the tenant nor holds a role. */
export function use(tenant, signal) {
  const root = h("div", {});
  fact(`/tenants/${encodeURIComponent(tenant)}/use`, {}, signal).then(
    (row) => replace(root, drawn(row)),
    () => {}, // 403 and 404: the objects below are there all the same
  );
  return root;
}

function drawn(row) {
  const columns = [
    ["", ([title]) => title],
    ["Used", ([, name, told]) => told(row[name]), "numeric"],
    ["of", ([, name, told]) => (row.limits[name] ? told(row.limits[name]) : ""), "numeric"],
    ["", ([, name]) => share(row[name], row.limits[name]), "numeric"],
  ];
  const settings = h("a", { class: "button", href: address("tenants", row.name) }, "Quotas, tokens, settings");
  return h(
    "div",
    { class: "columns" },
    panel("Use", table(columns, USES), h("p", {}, `${number(row.watches)} watches open. `, settings)),
    rates(row.minutes),
  );
}
