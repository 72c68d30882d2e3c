/* One change of many objects: some at a time, each with a result of its own. Pure. */

/** The objects at which a request may wait at the same time. */
export const AT_A_TIME = 4;

/** Does `act(object)` for each; tells `report(index, {state, error})` as each begins ("running") and
    ends ("done", "refused", "skipped" when the signal came first). Gives back the counts. What act
    throws refuses its object and stops no other. */
export async function run(objects, act, report, signal) {
  const counts = { done: 0, refused: 0, skipped: 0 };
  let next = 0;
  async function worker() {
    while (next < objects.length) {
      const index = next;
      next += 1;
      const result = signal?.aborted ? { state: "skipped" } : await one(objects[index], index);
      counts[result.state] += 1;
      report(index, result);
    }
  }
  async function one(object, index) {
    report(index, { state: "running" });
    try {
      await act(object);
      return { state: "done" };
    } catch (error) {
      return { state: "refused", error };
    }
  }
  await Promise.all(Array.from({ length: Math.min(AT_A_TIME, objects.length) }, worker));
  return counts;
}
