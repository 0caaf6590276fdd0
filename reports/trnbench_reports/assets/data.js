// ---- the data of the page, unpacked when first asked for
const one = (query, root = document) => root.querySelector(query);
const all = (query, root = document) => [...root.querySelectorAll(query)];
const byId = (id) => document.getElementById(id);
const safely = (action, otherwise) => { try { return action(); } catch { return otherwise; } };

const TOO_OLD = "This browser is too old to unpack the data. Use a newer one, or trnbench export.";
const inflated = (text) => {
  if (!("DecompressionStream" in self)) throw new Error(TOO_OLD);
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip")));
};
// Pages of a site have it in files beside them, which are scripts: from file:// nothing else may be read.
const placed = (address) => new Promise((done, failed) => {
  const script = document.createElement("script"), name = address.slice(address.lastIndexOf("data/"));
  script.addEventListener("load", () => done(self.trnbench[name]));
  script.addEventListener("error", () => failed(new Error(`${name} is missing from this site.`)));
  script.src = address;
  document.head.append(script);
});
const unpacked = async (id) => {
  const [first, ...others] = (byId(id).dataset.src ?? "").split(" ");
  await Promise.all(others.map(async (address) => apart.set(address.slice(address.lastIndexOf("data/")), await (await inflated(await placed(address))).text())));
  return inflated(first ? await placed(first) : byId(id).textContent);
};

// A value of a case's point as it stands in the case's name: Python writes True and 1e-07.
const named = (part) => {
  const text = part.text;
  if (text[0] === '"') return part.value;
  if (text === "true" || text === "false") return text === "true" ? "True" : "False";
  return text.replace(/e([+-]?)(\d+)$/, (_, sign, digits) => `e${sign || "+"}${digits.padStart(2, "0")}`);
};

class Run {
  constructor(part, index) {
    this.part = part;
    this.index = index;
    this.cases = part.at("measurements");
    this.count = this.cases.size;
    this.parts = new Map();
  }
  // A field of the run itself, put together once.
  field(name) {
    if (!this.parts.has(name)) this.parts.set(name, this.part.at(name)?.value);
    return this.parts.get(name);
  }
  get id() { return this.field("id"); }
  case(place) { return this.cases.at(place); }
  points(place) {
    const point = this.case(place).at("case", "point");
    return point.keys.map((key) => [key, named(point.at(key))]);
  }
  nameOf(place) {
    const key = this.case(place).at("case"), points = this.points(place);
    const inner = points.length ? `[${points.map((pair) => pair.join("=")).join(",")}]` : "";
    const division = key.at("division")?.value;
    return `${key.at("instance").value}::${key.at("kernel").value}${inner}@${key.at("scope").value}${division ? `:${division}` : ""}`;
  }
  get places() {
    if (!this.found) {
      this.found = new Map();
      for (let at = this.count - 1; at >= 0; at -= 1) this.found.set(this.nameOf(at), at);
    }
    return this.found;
  }
  get published() {
    return this.byPoint ??= new Map((this.field("fidelity")?.points ?? []).map((each) => [each.id, each]));
  }
  sourceOf(id) {
    this.bySource ??= new Map(Object.values(this.field("books")).flatMap((book) => Object.entries(book.sources)));
    return this.bySource.get(id);
  }
  factOf(id) {
    this.byFact ??= new Map(Object.values(this.field("books")).flatMap((book) => book.facts).map((fact) => [factName(fact), fact]));
    return this.byFact.get(id);
  }
}
// Fact.id: subject/metric[types,sparse,qualifier]@source#part
const factName = (fact) => {
  const marks = [...fact.dtypes, fact.sparse ? "sparse" : "", fact.qualifier].filter(Boolean);
  return `${fact.subject}/${fact.metric}${marks.length ? `[${marks}]` : ""}@${fact.source}${fact.part ? `#${fact.part}` : ""}`;
};

const runs = lazily(async () => {
  const root = column(await (await unpacked("data-json")).json());
  return Array.from({ length: root.size }, (_, at) => new Run(new Part(root, at), at));
});
