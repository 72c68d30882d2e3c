// The API by the console's session, through the gateway (controlplane/console/gateway.py).

import { parse } from "../change/exact.js";
import { looked, whileLooked } from "./looks.js";
import { answers, isAway, noAnswer } from "./outage.js";

const ROOT = "/admin/api";
const TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
const METADATA =
  "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json";
const ONE_METADATA =
  "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json";

/** What the API answers in the place of what was asked for. status: a metav1.Status. */
export class ApiError extends Error {
  constructor(status) {
    super(status.message || `the server answered ${status.code}`);
    this.status = status;
    this.code = status.code;
    this.reason = status.reason ?? "";
  }
}

export class Api {
  /** tenant: "" for what is no tenant's own (it is tenant default then). */
  constructor(tenant = "") {
    this.tenant = tenant;
    this.base = tenant ? `${ROOT}/clusters/${encodeURIComponent(tenant)}` : ROOT;
    this.asked = new Map();
  }

  /** The answer to a request, whatever it is. Throws ApiError for what is no success. */
  async request(method, path, { body, headers = {}, signal } = {}) {
    const sent = { Accept: "application/json", ...headers };
    if (method !== "GET" && method !== "HEAD") sent["X-CSRFToken"] = await csrfToken();
    let response = await fetched(this.base + path, { method, headers: sent, body, signal });
    if (response.status === 403 && sent["X-CSRFToken"] && (await isForgery(response.clone()))) {
      sent["X-CSRFToken"] = await csrfToken(true); // somebody has logged in anew in another tab
      response = await fetched(this.base + path, { method, headers: sent, body, signal });
    }
    if (!response.ok) throw new ApiError(await statusOf(response));
    return response;
  }

  /** The JSON at a path of the tenant ("/api/v1/namespaces/default"). exact: with numbers that a
   *  double would change as change/exact.js has them; the same of `list` and `watch`. */
  async get(path, { accept, exact, signal } = {}) {
    const response = await this.request("GET", path, {
      headers: accept ? { Accept: accept } : {},
      signal,
    });
    return exact ? parse(await response.text()) : response.json();
  }

  /** One page of a list. resource: as lib/discovery.js has it. table: as kubectl shows it, with
   *  the server's columns; metadata: objects' metadata only. more: further query parameters,
   *  lists of those that are given several times. */
  list(resource, options = {}) {
    const { namespace, table, metadata, exact, signal } = options;
    const path = `${pathOf(resource, { namespace })}?${listQuery(options)}`;
    const accept = table ? TABLE : metadata ? METADATA : undefined;
    return this.get(path, { accept, exact, signal });
  }

  /** Changes from `resourceVersion` on, as watch events, until the signal is aborted; streams that
   *  end are taken up again, those of a page that nobody looks at once somebody does. heard(error):
   *  called with what keeps it from that, with null once it follows. Throws ApiError, 410 where the
   *  version is too old: list anew. */
  async *watch(resource, options = {}) {
    const { namespace, table, metadata, exact, heard, signal } = options;
    const read = exact ? parse : JSON.parse;
    let { resourceVersion } = options;
    let failures = 0;
    while (!signal?.aborted) {
      await looked(signal);
      const query = listQuery({ ...options, limit: 0 });
      query.set("watch", "1");
      query.set("allowWatchBookmarks", "true");
      if (resourceVersion) query.set("resourceVersion", resourceVersion);
      const accept = table ? TABLE : metadata ? ONE_METADATA : "application/json";
      try {
        const path = `${pathOf(resource, { namespace })}?${query}`;
        for await (const event of whileLooked(signal, (until) => this.stream(path, { accept, read, heard }, until))) {
          if (event.type === "ERROR") throw new ApiError(event.object);
          failures = 0;
          resourceVersion = versionOf(event.object) ?? resourceVersion;
          if (event.type !== "BOOKMARK") yield event;
        }
        failures += 1; // it lasted until the server ended it
      } catch (error) {
        if (signal?.aborted) return;
        if (error instanceof ApiError && !isPassing(error)) throw error;
        heard?.(error);
        failures += 1;
        if (isAway()) {
          await answers();
          failures = 0;
        }
      }
      await pause(Math.min(failures, 8) ** 2 * 250, signal);
    }
  }

  async *stream(path, { accept, read, heard }, signal) {
    const response = await this.request("GET", path, { headers: { Accept: accept }, signal });
    heard?.(null);
    yield* events(response.body, read);
  }

  /** Sends an object, a patch or nothing; the JSON of the answer, with the server's warnings in
   *  `warnings` if that is an array. dryRun: nothing is stored. */
  async send(method, path, body, options = {}) {
    const { contentType, dryRun, fieldManager, fieldValidation, force, warnings } = options;
    const { exact, signal } = options;
    const query = new URLSearchParams();
    if (dryRun) query.set("dryRun", "All");
    if (fieldManager) query.set("fieldManager", fieldManager);
    if (fieldValidation) query.set("fieldValidation", fieldValidation);
    if (force) query.set("force", "true");
    const headers = {};
    if (body !== undefined && body !== null)
      headers["Content-Type"] = contentType ?? "application/json";
    const text = typeof body === "string" || body == null ? body : JSON.stringify(body);
    const asked = query.size ? `${path}${path.includes("?") ? "&" : "?"}${query}` : path;
    const response = await this.request(method, asked, { body: text, headers, signal });
    warnings?.push(...warningsOf(response.headers));
    return exact ? parse(await response.text()) : response.json();
  }

  /** Whether the user may, and why (not): {allowed, reason}. Questions of one moment go together;
   *  answers are remembered for some seconds. */
  can(verb, group, resource, { namespace = "", name = "", subresource = "" } = {}) {
    const attributes = { verb, group, resource, namespace, name, subresource };
    const key = JSON.stringify(attributes);
    const known = this.asked.get(key);
    if (known && known.until > Date.now()) return known.answer;
    const answer = this.review(attributes);
    this.asked.set(key, { until: Date.now() + 5000, answer });
    answer.catch(() => this.asked.delete(key));
    return answer;
  }

  async review(resourceAttributes) {
    const review = await this.send(
      "POST",
      "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
      {
        apiVersion: "authorization.k8s.io/v1",
        kind: "SelfSubjectAccessReview",
        spec: { resourceAttributes },
      },
    );
    return { allowed: review.status.allowed === true, reason: review.status.reason ?? "" };
  }
}

/** Whether the same request may succeed a little later: there is too much to do, or a server behind
 *  this one is away. */
export function isPassing(error) {
  return error instanceof ApiError && (error.code >= 500 || error.code === 429);
}

const apis = new Map();

/** The API of a tenant, one for all who ask. */
export function api(tenant = "") {
  if (!apis.has(tenant)) apis.set(tenant, new Api(tenant));
  return apis.get(tenant);
}

/** The path of a resource's list, of one object, or of its subresource. */
export function pathOf(resource, { namespace = "", name = "", subresource = "" } = {}) {
  const group = resource.group ? `/apis/${resource.group}` : "/api";
  const parts = [`${group}/${resource.version}`];
  if (namespace && resource.namespaced) parts.push("namespaces", encodeURIComponent(namespace));
  parts.push(resource.resource);
  if (name) parts.push(encodeURIComponent(name));
  if (subresource) parts.push(subresource);
  return parts.join("/");
}

/** The field selector that asks for these values, whatever characters they have. */
export function fieldSelectorOf(values) {
  const escaped = (value) => String(value).replace(/[\\,=]/g, "\\$&");
  return Object.entries(values)
    .map(([path, value]) => `${path}=${escaped(value)}`)
    .join(",");
}

function listQuery({ labelSelector, fieldSelector, limit, continue: next, includeObject, more }) {
  const query = new URLSearchParams();
  for (const [name, values] of Object.entries(more ?? {}))
    for (const value of [values].flat()) query.append(name, value);
  if (labelSelector) query.set("labelSelector", labelSelector);
  if (fieldSelector) query.set("fieldSelector", fieldSelector);
  if (limit) query.set("limit", String(limit));
  if (next) query.set("continue", next);
  if (includeObject) query.set("includeObject", includeObject);
  return query;
}

/** As fetch; that there was no answer at all is told to everybody. */
async function fetched(path, options) {
  try {
    return await fetch(path, options);
  } catch (error) {
    if (!options.signal?.aborted) noAnswer();
    throw error;
  }
}

/** Watch events: lines of JSON, cut anywhere on their way. */
async function* events(body, read) {
  const decoder = new TextDecoder();
  const reader = body.getReader();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const lines = (rest + decoder.decode(value, { stream: true })).split("\n");
      rest = lines.pop();
      for (const line of lines) if (line) yield read(line);
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

/** Of a watch event's object, or of the one row of a Table. */
function versionOf(object) {
  const row = object.kind === "Table" ? object.rows?.[0]?.object : null;
  return row?.metadata?.resourceVersion ?? object.metadata?.resourceVersion ?? null;
}

async function statusOf(response) {
  if (response.status === 401) dispatchEvent(new CustomEvent("console:session-over"));
  const text = await response.text();
  try {
    const status = JSON.parse(text);
    if (status.kind === "Status") return { ...status, code: status.code ?? response.status };
  } catch {
    // no Status: whatever stands between us and the API has answered
  }
  const message = text.slice(0, 500) || response.statusText;
  return { kind: "Status", status: "Failure", code: response.status, message };
}

/** RFC 7234: `299 - "text"`. */
function warningsOf(headers) {
  const said = headers.get("Warning") ?? "";
  return [...said.matchAll(/\d{3} \S+ "((?:[^"\\]|\\.)*)"/g)].map(([, text]) =>
    text.replace(/\\(.)/g, "$1"),
  );
}

async function isForgery(response) {
  const text = await response.text();
  return text.includes("CSRF");
}

async function csrfToken(anew = false) {
  const meta = document.querySelector("meta[name=csrf-token]");
  if (anew) {
    const page = await (await fetch(location.pathname)).text();
    meta.content = /name="csrf-token" content="([A-Za-z0-9]+)"/.exec(page)?.[1] ?? meta.content;
  }
  return meta.content;
}

function pause(milliseconds, signal) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    signal?.addEventListener("abort", () => (clearTimeout(timer), resolve()), { once: true });
  });
}
