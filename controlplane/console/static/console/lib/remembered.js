// Answers that are not asked for again for a while.

/** {of(key, ask), forget()}: what ask() has promised for the key, for so many milliseconds, also to
 *  those who want it meanwhile. A promise that fails is forgotten. */
export function remembered(milliseconds) {
  const known = new Map();
  return {
    of(key, ask) {
      const found = known.get(key);
      if (found && found.until > Date.now()) return found.answer;
      const answer = ask();
      const made = { until: Date.now() + milliseconds, answer };
      known.set(key, made);
      answer.catch(() => known.get(key) === made && known.delete(key));
      return answer;
    },
    forget: () => known.clear(),
  };
}
