// The order in which kubectl prints members (go-yaml's sorter.go): letters behind what is none,
// numbers by their values.

const LETTER = /\p{L}/u;
const DIGIT = /\p{Nd}/u;

/** Compares two names, for Array.sort. */
export function less(a, b) {
  if (a === b) return 0;
  return isLess([...a], [...b]) ? -1 : 1;
}

function isLess(a, b) {
  let digits = false;
  for (let at = 0; at < a.length && at < b.length; at += 1) {
    if (a[at] === b[at]) {
      digits = DIGIT.test(a[at]);
      continue;
    }
    const [letterA, letterB] = [LETTER.test(a[at]), LETTER.test(b[at])];
    if (letterA && letterB) return a[at] < b[at];
    if (letterA || letterB) return digits ? letterA : letterB;
    return isLessNumber(a, b, at);
  }
  return a.length < b.length;
}

function isLessNumber(a, b, at) {
  const lead = (a[at] === "0" || b[at] === "0") && isWithinNumber(a, at) ? "1" : "";
  const [textA, textB] = [digitsFrom(a, at), digitsFrom(b, at)];
  const [numberA, numberB] = [BigInt(lead + textA || "0"), BigInt(lead + textB || "0")];
  if (numberA !== numberB) return numberA < numberB;
  if (textA.length !== textB.length) return textA.length < textB.length;
  return a[at] < b[at];
}

/** Whether digits before `at`, not all of them 0, belong to the same number. */
function isWithinNumber(characters, at) {
  for (let before = at - 1; before >= 0 && DIGIT.test(characters[before]); before -= 1) {
    if (characters[before] !== "0") return true;
  }
  return false;
}

function digitsFrom(characters, at) {
  let end = at;
  while (end < characters.length && /[0-9]/.test(characters[end])) end += 1;
  return characters.slice(at, end).join("");
}
