// Views that ask anew when something has changed.
//
// A watch of each resource that such a view is about would take up the connections that a browser
// has for a server (six, in HTTP/1.1). A list's version rises with every write of the tenant, so one
// short question says whether it is worth to ask the others.

import { api } from "./api.js";

const PAUSE = 1500; // milliseconds between two looks

/** Calls `changed` after something of the tenant has changed, until the signal is aborted. resources:
 *  of which the reader has to be allowed to list one. */
export async function follow(tenant, resources, changed, signal) {
  const asked = api(tenant);
  const answers = await Promise.all(
    resources.map(({ group, resource }) =>
      asked.can("list", group, resource).catch(() => ({ allowed: false })),
    ),
  );
  const resource = resources.find((_, at) => answers[at].allowed);
  let seen = null;
  while (resource && !signal.aborted) {
    const version = await head(asked, resource, signal);
    if (seen !== null && version !== null && version !== seen && !signal.aborted) await changed();
    seen = version ?? seen;
    await new Promise((resolve) => setTimeout(resolve, PAUSE));
  }
}

/** null where there is no answer at present. */
async function head(asked, resource, signal) {
  try {
    const { metadata } = await asked.list(resource, { metadata: true, limit: 1, signal });
    return metadata.resourceVersion;
  } catch {
    return null;
  }
}
