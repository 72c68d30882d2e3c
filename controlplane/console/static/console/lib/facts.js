// What the console's server says beside the API (controlplane/console/facts).

import { Api } from "./api.js";

const facts = new Api();
facts.base = "/admin/console/facts";

/** path: "/tenants"; query: parameters, of which empty ones are left out. */
export function fact(path, query = {}, signal) {
  const given = new URLSearchParams(Object.entries(query).filter(([, value]) => value));
  return facts.get(given.size ? `${path}?${given}` : path, { signal });
}

/** Changes something; the JSON of the answer. */
export function tell(method, path, body) {
  return facts.send(method, path, body);
}
