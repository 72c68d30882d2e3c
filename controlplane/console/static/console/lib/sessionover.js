// A page whose session has ended, or in whose browser somebody else has logged in: it goes to the
// login, or becomes the other's. Where something would be lost with it, it stays and says so.

import { notify } from "./dialog.js";
import { h } from "./dom.js";
import { account, accountId } from "./state.js";
import { unsaved } from "./unsaved.js";

const LOGIN = "/admin/login/?next=";
const ME = "/admin/console/facts/me";
let said = null; // the notice
let asking = false;

export function listen() {
  addEventListener("console:session-over", over);
  addEventListener("console:session-back", () => said?.remove());
}

async function over() {
  if (asking) return;
  asking = true;
  try {
    const now = await whoIsIn();
    if (now?.uid === accountId()) return; // has logged in again meanwhile
    if (unsaved()) say(now);
    else if (now) location.reload();
    else location.assign(LOGIN + encodeURIComponent(location.pathname + location.search));
  } catch {
    // no answer: the next request will tell
  } finally {
    asking = false;
  }
}

/** Whose the browser's session is; null for nobody's. */
async function whoIsIn() {
  const answer = await fetch(ME);
  return answer.ok ? answer.json() : null;
}

function say(now) {
  said?.remove();
  const again = h("a", { href: `${LOGIN}/admin/console/me`, target: "_blank" }, "Log in in another tab");
  said = notify(now
    ? `${now.name} has logged in in this browser. This page is ${account()}'s and sends nothing more; `
      + "what you have written is still here, to be copied."
    : ["Your session has ended. What you have written is still here. ", again, `, as ${account()}, then go on.`],
  { error: true });
}
