// ---- a JSON text by columns (columns.py says how), read in parts: nothing is put together before it is asked for
const counts = (text) => text === "" ? new Uint32Array(0) : Uint32Array.from(text.split(","), Number);
const lazily = (make) => { let made; return () => made ??= make(); };
// How many of the places before each one `counted` counts.
const ranks = (size, counted) => {
  const found = new Uint32Array(size);
  for (let at = 0, seen = 0; at < size; at += 1) { found[at] = seen; if (counted(at)) seen += 1; }
  return found;
};

// One value of a column: its text, its value, and its parts by key or number (undefined where it has none).
class Part {
  constructor(column, place) { this.column = column; this.place = place; }
  get text() { return this.column.text(this.place); }
  get value() { return JSON.parse(this.text); }
  get size() { return this.column.length?.(this.place) ?? 0; }
  get keys() { return this.column.keys?.(this.place) ?? []; }
  at(...keys) {
    let part = this;
    for (const key of keys) part = part?.column.part?.(part.place, key);
    return part;
  }
}

// Columns that stand in files of their own, by address.
const apart = new Map();
const MAKERS = {
  r: (address) => column(JSON.parse(apart.get(address))),
  n: (text) => {
    const cells = lazily(() => text === "" ? [] : text.split(","));
    return { get size() { return cells().length; }, text: (i) => cells()[i] };
  },
  s: (words) => ({ size: words.length, text: (i) => JSON.stringify(words[i]) }),
  d: (node, text) => {
    const inner = column(node), which = counts(text);
    return {
      size: which.length,
      text: (i) => inner.text(which[i]),
      length: (i) => inner.length?.(which[i]) ?? 0,
      part: (i, key) => inner.part?.(which[i], key),
      keys: (i) => inner.keys?.(which[i]) ?? [],
    };
  },
  m: (text, nodes) => {
    const which = counts(text), inner = nodes.map(column);
    const places = inner.map((_, kind) => lazily(() => ranks(which.length, (at) => which[at] === kind)));
    const of = (i) => [inner[which[i]], places[which[i]]()[i]];
    return {
      size: which.length,
      text: (i) => { const [found, at] = of(i); return found.text(at); },
      length: (i) => { const [found, at] = of(i); return found.length?.(at) ?? 0; },
      part: (i, key) => { const [found, at] = of(i); return found.part?.(at, key); },
      keys: (i) => { const [found, at] = of(i); return found.keys?.(at) ?? []; },
    };
  },
  l: (text, node) => {
    const lengths = counts(text), inner = lazily(() => column(node));
    const starts = lazily(() => {
      const found = new Uint32Array(lengths.length);
      for (let at = 0, sum = 0; at < found.length; at += 1) { found[at] = sum; sum += lengths[at]; }
      return found;
    });
    return {
      size: lengths.length,
      length: (i) => lengths[i],
      part: (i, at) => Number.isInteger(at) && at >= 0 && at < lengths[i] ? new Part(inner(), starts()[i] + at) : undefined,
      text: (i) => `[${Array.from({ length: lengths[i] }, (_, at) => inner().text(starts()[i] + at)).join(",")}]`,
    };
  },
  o: (shapes, text, pairs) => {
    const which = counts(text), held = shapes.map((keys) => new Set(keys));
    const inner = new Map(pairs.map(([key, node]) => [key, lazily(() => column(node))]));
    const places = new Map(pairs.map(([key]) => [key, lazily(() => ranks(which.length, (at) => held[which[at]].has(key)))]));
    const part = (i, key) => held[which[i]].has(key)
      ? new Part(inner.get(key)(), shapes.length === 1 ? i : places.get(key)()[i]) : undefined;
    return {
      size: which.length,
      part,
      keys: (i) => shapes[which[i]],
      text: (i) => `{${shapes[which[i]].map((key) => `${JSON.stringify(key)}:${part(i, key).text}`).join(",")}}`,
    };
  },
};
const column = ([kind, ...rest]) => MAKERS[kind](...rest);
