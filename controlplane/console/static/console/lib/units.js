// Sizes and numbers, as people read them, and the quantities of Kubernetes.

const BINARY = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
const SUFFIXES = {
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  "": 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
};

/** Bytes: 1536 -> "1.5 KiB". */
export function bytes(count) {
  let unit = 0;
  let value = Number(count) || 0;
  while (Math.abs(value) >= 1024 && unit < BINARY.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${unit && value < 100 ? value.toFixed(1) : Math.round(value)} ${BINARY[unit]}`;
}

/** 1234567 -> "1,234,567". */
export function number(count) {
  return Number(count).toLocaleString("en-US");
}

/** 1234567 -> "1.2M", for where there is little room. */
export function short(count) {
  if (count < 1000) return String(count);
  const [unit, sign] = count < 1e6 ? [1e3, "k"] : count < 1e9 ? [1e6, "M"] : [1e9, "G"];
  const value = count / unit;
  return `${value < 10 ? value.toFixed(1).replace(/\.0$/, "") : Math.floor(value)}${sign}`;
}

/** The number that a quantity ("250m", "1.5Gi", "2e3") stands for; NaN for what is none. */
export function quantity(text) {
  const match = /^([+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?)([A-Za-z]{0,2})$/.exec(String(text).trim());
  if (!match || !(match[2] in SUFFIXES)) return NaN;
  return Number(match[1]) * SUFFIXES[match[2]];
}

/** A whole number as people write it: "2Gi", "2 GiB", "500k", "1,000,000"; NaN for what is none. */
export function whole(text) {
  const count = quantity(String(text).replace(/[\s,_]/g, "").replace(/i?B$/, (unit) => unit.replace("B", "")));
  return Number.isSafeInteger(count) && count >= 0 ? count : NaN;
}

/** The shortest way to write a number of bytes as a quantity without losing any: 2147483648 -> "2Gi". */
export function exactly(count) {
  const units = ["Ei", "Pi", "Ti", "Gi", "Mi", "Ki"];
  const unit = count && units.find((one) => count % SUFFIXES[one] === 0);
  return unit ? `${count / SUFFIXES[unit]}${unit}` : String(count);
}

/** 3, "object" -> "3 objects". */
export function many(count, one, more = `${one}s`) {
  return `${number(count)} ${count === 1 ? one : more}`;
}
