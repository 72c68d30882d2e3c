/* Requests whose numbers arrive as they are written. */

import { ApiError, api, pathOf } from "../lib/api.js";
import { parse, stringify } from "./exact.js";
import { JSON_TYPE } from "./requests.js";

const WARNING = /\d{3} \S+ "((?:[^"\\]|\\.)*)"/g;

/** An object of a resource. Throws ApiError. */
export async function fetchObject(tenant, resource, { namespace, name, signal }) {
  const path = pathOf(resource, { namespace, name });
  return parse(await (await api(tenant).request("GET", path, { signal })).text());
}

/** An object as it was in a revision. subject: of lib/subject.js. Throws ApiError. */
export async function fetchRevision(subject, number, signal) {
  const version = encodeURIComponent(subject.apiVersion);
  const path = `${subject.revisions}/${encodeURIComponent(number)}?apiVersion=${version}`;
  return parse(await (await subject.api.request("GET", path, { signal })).text()).object;
}

/** Sends a request of `requests.js` or `session.js` about an object: {answer, warnings}. Throws
    ApiError. at: {namespace, name}, no name for the list. */
export async function send(tenant, resource, at, request, options = {}) {
  const { dryRun, manager, force, signal } = options;
  const query = new URLSearchParams();
  let { body } = request;
  if (request.method === "DELETE") {
    // where there is a body, the API server reads the options of a deletion from it alone
    if (dryRun) body = { ...body, dryRun: ["All"] };
  } else {
    if (dryRun) query.set("dryRun", "All");
    query.set("fieldValidation", "Strict");
    if (manager) query.set("fieldManager", manager);
  }
  if (force) query.set("force", "true");
  const path = pathOf(resource, { ...at, subresource: request.subresource });
  const headers = { "Content-Type": request.type ?? JSON_TYPE };
  const response = await api(tenant).request(request.method, `${path}?${query}`,
    { body: stringify(body), headers, signal });
  const said = response.headers.get("Warning") ?? "";
  const warnings = [...said.matchAll(WARNING)].map(([, text]) => text.replace(/\\(.)/g, "$1"));
  return { answer: parse(await response.text()), warnings };
}

/** The Status of what was thrown; what is no answer of the API is thrown again. */
export function statusOf(error) {
  if (error instanceof ApiError) return error.status;
  throw error;
}

const documents = new Map();

/** The OpenAPI v3 document of a resource's version. Of a definition that has only just come it may
    not be there yet: {}. */
export function document(tenant, { group, version }) {
  const path = group ? `/openapi/v3/apis/${group}/${version}` : `/openapi/v3/api/${version}`;
  const key = `${tenant} ${path}`;
  if (!documents.has(key)) {
    const answer = api(tenant).get(path).catch((error) => {
      documents.delete(key);
      if (error instanceof ApiError && error.code < 500) return {};
      throw error;
    });
    documents.set(key, answer);
    setTimeout(() => documents.delete(key), 60_000);
  }
  return documents.get(key);
}
