// What the frame and the views know of where the reader is: the tenant and namespace last looked at,
// and what this browser remembers of choices.

const stored = (name) => {
  try {
    return localStorage.getItem(name);
  } catch {
    return null; // storage is switched off
  }
};

/** A choice that this browser remembers (JSON); `otherwise` where there is none. */
export function recall(name, otherwise) {
  try {
    return JSON.parse(stored(name)) ?? otherwise;
  } catch {
    return otherwise;
  }
}

export function keep(name, value) {
  try {
    localStorage.setItem(name, JSON.stringify(value));
  } catch {
    // it is forgotten with the page
  }
}

export function forget(name) {
  try {
    localStorage.removeItem(name);
  } catch {
    // there is nothing to forget
  }
}

/** Who has logged in, as the console calls them. */
export function account() {
  return document.querySelector("meta[name=account]")?.content ?? "";
}

/** The account's uid, which no other account ever has. */
export function accountId() {
  return document.querySelector("meta[name=account-id]")?.content ?? "";
}

/** Where the accounts are managed; "" for whoever may not. */
export function accountsPage() {
  return document.querySelector("meta[name=accounts]")?.content ?? "";
}

/** The tenant of the address, else the one last looked at. */
export function lastTenant() {
  return recall("tenant", "default");
}
