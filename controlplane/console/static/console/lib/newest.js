// Questions that are asked again before they are answered: answers may come in another order.

/** A function that begins a question, and returns one that is asked once when its answer is there:
 *  whether none of a later question has been before. */
export function newest() {
  let asked = 0;
  let answered = 0;
  return () => {
    asked += 1;
    const mine = asked;
    return () => {
      if (mine < answered) return false;
      answered = mine;
      return true;
    };
  };
}
