// The Events about the object.

import { ApiError, fieldSelectorOf, isPassing } from "../../lib/api.js";
import { h, renew, replace } from "../../lib/dom.js";
import { age } from "../../lib/time.js";
import { number } from "../../lib/units.js";

const MOST = 500; // that are listed, the last ones to be made
const AGAIN = 3000; // milliseconds after which a server is asked again that had no time
const EVENTS = { group: "", version: "v1", resource: "events", kind: "Event", namespaced: true };

export default async function events({ subject, panel, signal }) {
  const namespace = subject.namespace || "default"; // where those of objects without one are
  const { allowed, reason } = await subject.api.can("list", "", "events", { namespace });
  if (!allowed) {
    panel.append(
      h("p", { class: "banner" }, `You may not list the events of ${namespace}: ${reason}`),
    );
    return undefined;
  }
  const body = h("tbody", {});
  const more = h("p", { class: "muted" });
  const heads = ["Type", "Reason", "Last seen", "First seen", "Count", "From", "Message"];
  panel.append(
    h(
      "table",
      { class: "list" },
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          heads.map((text) => h("th", {}, text)),
        ),
      ),
      body,
    ),
    more,
  );
  const found = new Map();
  const draw = () => renew(body, rowsOf([...found.values()]));
  const take = (event) => isAbout(event, subject) && found.set(event.metadata.uid, event);
  const kind = subject.resource.kind;
  const fieldSelector = fieldSelectorOf({
    "involvedObject.kind": kind,
    "involvedObject.name": subject.name,
  });
  follow();
  return undefined;

  async function follow() {
    while (!signal.aborted) {
      try {
        const page = await subject.api.list(EVENTS, {
          namespace,
          fieldSelector,
          limit: MOST,
          more: { sortBy: "-.metadata.creationTimestamp" },
          signal,
        });
        found.clear();
        (page.items ?? []).forEach(take);
        draw();
        const older = page.metadata.remainingItemCount ?? 0;
        replace(more, older > 0 && `The newest ${MOST}; there are ${number(older)} older ones.`);
        const { resourceVersion } = page.metadata;
        const options = { namespace, fieldSelector, resourceVersion, signal };
        for await (const { type, object } of subject.api.watch(EVENTS, options)) {
          if (type === "DELETED") found.delete(object.metadata.uid);
          else take(object);
          draw();
        }
      } catch (error) {
        if (signal.aborted || (error instanceof ApiError && error.code === 410)) continue;
        if (isPassing(error)) {
          await new Promise((resolve) => setTimeout(resolve, AGAIN));
          continue;
        }
        replace(body, h("tr", {}, h("td", { colspan: "7" }, error.message)));
        return;
      }
    }
  }
}

/** A kind of another group may be called the same, and its object, too. */
function isAbout({ involvedObject: { apiVersion = "" } }, { resource }) {
  const group = apiVersion.includes("/") ? apiVersion.split("/")[0] : "";
  return !apiVersion || group === resource.group;
}

function rowsOf(events) {
  if (!events.length)
    return h("tr", {}, h("td", { colspan: "7" }, "There are no events about it."));
  const last = (event) =>
    event.series?.lastObservedTime ??
    event.lastTimestamp ??
    event.eventTime ??
    event.metadata.creationTimestamp;
  const first = (event) =>
    event.firstTimestamp ?? event.eventTime ?? event.metadata.creationTimestamp;
  const newest = [...events].sort((a, b) => Date.parse(last(b)) - Date.parse(last(a)));
  return newest.map((event) =>
    h(
      "tr",
      {},
      h(
        "td",
        {},
        h("span", { class: `badge ${event.type === "Warning" ? "bad" : ""}` }, event.type ?? ""),
      ),
      h("td", {}, event.reason ?? ""),
      h("td", {}, age(last(event))),
      h("td", {}, age(first(event))),
      h("td", {}, String(event.series?.count ?? event.count ?? 1)),
      h("td", {}, event.reportingComponent || event.source?.component || ""),
      h("td", { class: "message" }, event.message ?? event.note ?? ""),
    ),
  );
}
