// What is done anew whenever something has changed, where that may be many times a second.

const PAUSE = 400; // milliseconds between two runs

/** A function that has `work` run: at once, or where it is running, once more after it and a pause,
 *  however often it was called meanwhile. failed(error): called with what `work` throws. */
export function coalesced(work, failed) {
  let running = false;
  let wanted = false;
  return async () => {
    wanted = true;
    if (running) return;
    running = true;
    while (wanted) {
      wanted = false;
      try {
        await work();
      } catch (error) {
        failed(error);
      }
      await new Promise((resolve) => setTimeout(resolve, PAUSE));
    }
    running = false;
  };
}
