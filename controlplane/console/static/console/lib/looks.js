// Whether somebody looks at the page. A browser has six connections for a server (HTTP/1.1) and all of
// its tabs: a watch in each of six tabs that nobody looks at would leave the seventh waiting for ever.

const PATIENCE = 5000; // milliseconds after which nobody comes back at once

/** Resolves once the page is looked at, or the signal is aborted. */
export async function looked(signal) {
  while (document.hidden && !signal?.aborted) {
    await new Promise((resolve) => {
      document.addEventListener("visibilitychange", resolve, { once: true });
      signal?.addEventListener("abort", resolve, { once: true });
    });
  }
}

/** Runs `work(signal)` with a signal that is aborted with the one that is given, and once the page has
 *  not been looked at for some seconds. */
export async function* whileLooked(signal, work) {
  const unseen = new AbortController();
  let timer = 0;
  const look = () => {
    clearTimeout(timer);
    if (document.hidden) timer = setTimeout(() => unseen.abort(), PATIENCE);
  };
  document.addEventListener("visibilitychange", look);
  look();
  try {
    yield* work(signal ? AbortSignal.any([signal, unseen.signal]) : unseen.signal);
  } catch (error) {
    if (!unseen.signal.aborted) throw error;
  } finally {
    document.removeEventListener("visibilitychange", look);
    clearTimeout(timer);
  }
}
