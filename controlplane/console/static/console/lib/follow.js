// Views that ask anew when something has changed.
//
// A watch of each resource that such a view is about would take up the connections that a browser
// has for a server (six, in HTTP/1.1). A list's version rises with every write of the tenant, so one
// short question says whether it is worth to ask the others.

import { api } from "./api.js";

const PAUSE = 1500; // milliseconds between two looks

/** Resolves, once the tenant's version is known, to a function: `follow(changed)` calls `changed` after
 *  something has changed since then, until the signal is aborted. So whoever asks for what there is
 *  after that misses nothing. resources: of which the reader has to be allowed to list one. */
export async function following(tenant, resources, signal) {
  const asked = api(tenant);
  const answers = await Promise.all(
    resources.map(({ group, resource }) =>
      asked.can("list", group, resource).catch(() => ({ allowed: false })),
    ),
  );
  const resource = resources.find((_, at) => answers[at].allowed);
  let seen = resource ? await head(asked, resource, signal) : null;
  return async (changed) => {
    while (resource && !signal.aborted) {
      await new Promise((resolve) => setTimeout(resolve, PAUSE));
      const version = await head(asked, resource, signal);
      if (version === null || version === seen || signal.aborted) continue;
      seen = version;
      await changed();
    }
  };
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
