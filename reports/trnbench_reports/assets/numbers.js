// ---- numbers as people read them: what numbers.py says, digit for digit
const GAP = "\u00a0";
const DECIMAL = [["E", 1e18], ["P", 1e15], ["T", 1e12], ["G", 1e9], ["M", 1e6], ["k", 1e3], ["", 1]];
const SMALL = [["", 1], ["m", 1e-3], ["µ", 1e-6], ["n", 1e-9], ["p", 1e-12]];
const BINARY = [["Ti", 2 ** 40], ["Gi", 2 ** 30], ["Mi", 2 ** 20], ["Ki", 2 ** 10], ["", 1]];
const UNIT_NAMES = { "FLOP/s": "FLOPS", "OP/s": "OPS" };
const DECIMAL_UNITS = ["FLOP/s", "OP/s", "B/s", "Hz", "W", "element/s"];

const formats = new Map();
const fixed = (value, places, useGrouping = true) => {
  const key = `${places} ${useGrouping}`;
  if (!formats.has(key)) {
    const digits = Math.min(Math.max(places, 0), 20);
    formats.set(key, new Intl.NumberFormat("en", {
      minimumFractionDigits: digits, maximumFractionDigits: digits, useGrouping, roundingMode: "halfEven",
    }));
  }
  return formats.get(key).format(value);
};
const places = (value, digits) => Math.max(digits - 1 - Math.floor(Math.log10(Math.abs(value))), 0);
const rounded = (value, digits) => value === 0 ? 0 : Number(fixed(value, places(value, digits), false));
const plain = (value, digits) => {
  const near = rounded(value, digits);
  if (near === 0) return "0";
  const text = fixed(near, places(near, digits));
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
};
const scaled = (size, prefixes, unit, digits, step = 1000) => {
  if (size === 0) return `0${GAP}${unit}`;
  let at = prefixes.findIndex(([, scale]) => size >= scale);
  if (at < 0) at = prefixes.length - 1;
  let prefix = prefixes[at][0];
  // 999.7 GB/s at three digits is 1 TB/s, not 1,000 GB/s.
  const value = size / prefixes[at][1];
  if (at && rounded(value, digits) >= step) {
    prefix = prefixes[at - 1][0];
    return `${plain(size / prefixes[at - 1][1], digits)}${GAP}${prefix}${unit}`;
  }
  return `${plain(value, digits)}${GAP}${prefix}${unit}`;
};
// A value of a base unit with its own prefix: "10.7 PFLOPS", "96 GiB", "1.42 µs".
const show = (value, unit, digits = 3) => {
  if (typeof value !== "number" || !Number.isFinite(value)) return String(value);
  const sign = value < 0 ? "−" : "", size = Math.abs(value);
  if (DECIMAL_UNITS.includes(unit)) return sign + scaled(size, DECIMAL, UNIT_NAMES[unit] ?? unit, digits);
  if (unit === "s") return sign + scaled(size, SMALL, "s", digits);
  if (unit === "B") return sign + scaled(size, BINARY, "B", digits, 1024);
  if (unit === "1/s") {  // how often: "4.31 M/s", zeros kept
    const [prefix, step] = DECIMAL.find(([, scale]) => size >= scale) ?? ["", 1], near = rounded(size / step, digits);
    return `${sign}${near === 0 ? "0" : fixed(near, places(near, digits))}${GAP}${prefix}/s`;
  }
  return sign + plain(size, digits) + (unit === "" || unit === "1" ? "" : GAP + unit);
};
// One decimal; what is not 100 % never reads as 100 %.
const percent = (fraction) => {
  if (!Number.isFinite(fraction)) return String(fraction);
  const share = fraction * 100;
  if (Math.abs(share - 100) <= 1e-9 * Math.max(Math.abs(share), 100)) return `100.0${GAP}%`;
  if (share === 0) return `0.0${GAP}%`;
  if (Math.abs(share) < 0.1) return `${share < 0 ? "−" : ""}<0.1${GAP}%`;
  let near = Number(fixed(share, 1, false));
  if (share < 100 && near >= 100) near = 99.9;
  if (share > 100 && near <= 100) near = 100.1;
  return `${fixed(near, 1)}${GAP}%`.replace("-", "−");
};
// Every digit that is stored.
const exact = (value) => String(value);
const whole = (value) => value.toLocaleString("en");
const plural = (count, noun) => `${whole(count)} ${noun}${count === 1 ? "" : "s"}`;
