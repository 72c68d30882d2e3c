// Order by the server: of all objects of a list, not only of those that are here.

import { api } from "./api.js";
import { fullName } from "./kinds.js";
import { PRINTED_PATHS } from "./printedpaths.js";

const DEFINITIONS = "apiextensions.k8s.io";

/** What the list is to be sorted by (its parameter sortBy) for "Name", or "-Name" from its end; ""
 *  where the server cannot be asked. columns: as lib/columns.js has them. */
export async function orderOf(tenant, resource, columns, by) {
  const name = by.replace(/^-/, "");
  const column = columns.find((one) => one.name === name);
  if (!column) return "";
  const known = column.path ?? PRINTED_PATHS[fullName(resource)]?.[name];
  const path = known ?? (await printed(tenant, resource)).get(name) ?? column.likely ?? "";
  return by.startsWith("-") && path ? turned(path) : path;
}

const ALWAYS_THERE = /^-?\.metadata\.(name|namespace|uid|creationTimestamp)$/;

/** What gives the very reverse of a list that the server sorts by `sortBy` ("": by namespace and
 *  name): what lacks a value comes last there, and first here. across: of several namespaces. */
export function reverseOf(sortBy, across) {
  const vacant = ALWAYS_THERE.test(sortBy) ? "" : "^";
  const keys = [
    ...(sortBy ? [vacant + turned(sortBy)] : []),
    ...(across ? ["-.metadata.namespace"] : []),
    "-.metadata.name",
  ];
  const bare = keys.map((key) => key.replace(/^-/, ""));
  return keys.filter((_, at) => bare.indexOf(bare[at]) === at);
}

function turned(path) {
  return path.startsWith("-") ? path.slice(1) : `-${path}`;
}

/** Column -> JSONPath of what a definition tells to print; none of what has no definition that the
 *  reader may see. */
async function printed(tenant, { group, version, resource }) {
  const asked = api(tenant);
  const name = `${resource}.${group}`;
  const may = await asked.can("list", DEFINITIONS, "customresourcedefinitions", { name });
  if (!group.includes(".") || !may.allowed) return new Map();
  const definitions = { group: DEFINITIONS, version: "v1", resource: "customresourcedefinitions" };
  const { items } = await asked.list(definitions, { fieldSelector: `metadata.name=${name}` });
  const served = items[0]?.spec.versions.find((one) => one.name === version);
  const columns = served?.additionalPrinterColumns ?? [];
  return new Map(columns.map((one) => [one.name, pathOf(one)]));
}

/** Times are shown as ages: older is larger. */
function pathOf({ type, jsonPath }) {
  return type === "date" ? `-${jsonPath}` : jsonPath;
}
