// ---- the drawer's blocks: from a value to the documents it hangs on
const addressOf = (run, id, metric = "") => `#case=${encodeURIComponent(id)}`
  + (metric ? `&metric=${encodeURIComponent(metric)}` : "") + (run.index ? `&run=${run.index}` : "");
const block = (name, title, ...children) => {
  const found = children.flat().filter(Boolean);
  return found.length ? make("section", { id: `why-${name}`, "aria-labelledby": `why-${name}-h` },
    make("h3", { id: `why-${name}-h`, tabindex: -1 }, title), found) : null;
};
const note = (...text) => make("p", { class: "note" }, text);

const ASSUMED = "the ranges of its assumptions";
const valueBlock = (run, each, metric) => {
  const judged = each.judgement, band = each.evidence.nearest?.band, expected = expectedOf(each, metric);
  const bad = each.status === "suspect" || each.status === "failed";
  const said = [each.reason_text || each.reason, each.stability?.why, ...(judged?.causes ?? [])].filter(Boolean).join("; ");
  return block("value", metric ? `${metricWords(metric.name)}` : "No value",
    metric && make("p", { class: grey(each) ? "big faint" : "big" }, show(metric.value, metric.unit)),
    make("p", {}, make("span", { class: bad ? "shout" : "tag" }, bad ? each.status.toUpperCase() : each.status), " ",
      `${each.evidence.grade} (${GRADES[each.evidence.grade] ?? "?"}) by ${each.evidence.by} ${each.evidence.version}`.trim(),
      said ? `: ${clip(said)}` : ""),
    rowsOf([
      ["every digit", metric && `${exact(metric.value)} ${metric.unit}`],
      ["counts for", metric && [metric.scope, metric.direction].filter(Boolean).join(", ")],
      ["expect", expected && ranged(expected, metric.unit)],
      ["of the peak", judged && metric && judged.metric === metric.name && percent(judged.fraction)],
      ["of what the clocks allow", judged?.of_engine_bound && metric && judged.metric === metric.name && percent(judged.of_engine_bound)],
      ["time", each.time_s !== null && show(each.time_s, "s", 4)],
      ["between processes", each.interval && `${show(each.interval.low, "s")} to ${show(each.interval.high, "s")}`],
      ["best published", each.evidence.nearest?.best && bestOf(run, each.evidence.nearest.best)],
    ]),
    band ? note(`The band is that of the class “${nearness(each)}”: ${plural(band.votes, "kernel")} with ${plural(band.points, "point")} stand behind it, `
      + `model over published time from ${signedError(band.low)} to ${signedError(band.high)}`
      + `${!band.widened ? "" : band.widened === ASSUMED ? `; it is no narrower than ${ASSUMED}`
        : `; widened towards the class “${band.widened}”, since few do`}.`)
      : grey(each) && note(`No interval: nearest evidence “${nearness(each)}”. Do not lean on this number.`),
    each.evidence.nearest?.note && note(clip(each.evidence.nearest.note)),
    judged?.comment && !said.includes(judged.comment) && note(clip(judged.comment)));
};
const bestOf = (run, best) => [
  run.published.has(best.id) ? make("a", { href: `#point=${encodeURIComponent(best.id)}` }, show(best.value, best.unit)) : show(best.value, best.unit),
  ` (${best.kind}${best.at ? `, ${best.at}` : ""})`];

// "flops / time" with the numbers in it.
const formulaBlock = (run, each, id, metric) => {
  if (!metric) return null;
  const [head, ...comment] = metric.formula.split(": ");
  const known = { ...each.work, time: each.time_s };
  let all = head.length > 0, any = false;
  const inside = head.replace(/[a-z][a-z_]*/g, (name) => {
    if (typeof known[name] !== "number") { all = false; return name; }
    any = true;
    return name === "time" ? show(known.time, "s", 7) : whole(known[name]);
  });
  const judged = each.judgement, peak = judged?.metric === metric.name ? judged.peaks.chosen : null;
  const ends = peak ? [metric.value, peak.value].map((value) => show(value, metric.unit)) : [];
  if (metric.better === "lower") ends.reverse();
  return block("formula", "How it follows",
    make("p", { class: "sum" }, all && any
      ? [make("code", {}, head), " = ", make("code", {}, inside), " = ", make("b", {}, show(metric.value, metric.unit))]
      : [make("code", {}, metric.formula || "as it was stored"), " = ", make("b", {}, show(metric.value, metric.unit))]),
    all && any && comment.length ? note(comment.join(": ")) : null,
    peak && make("p", { class: "sum" }, make("code", {}, ends.join(" ÷ ")), " = ", make("b", {}, percent(judged.fraction)), " of the peak"),
    make("details", {}, make("summary", {}, `All metrics of this case (${Object.keys(each.metrics).length})`),
      tableOf("All metrics of this case", ["metric", "value#", "formula"], Object.values(each.metrics).map((other) => [
        make("a", { href: addressOf(run, id, other.name) }, metricWords(other.name)), show(other.value, other.unit), other.formula]))));
};

const peakRows = (run, peak) => {
  const facts = peak.facts.map((id) => [id, run.factOf(id)]);
  return [
    show(peak.value, peakUnit(peak.metric)),
    [peak.evidence, peak.formula ? `: ${clip(peak.formula, 200)}` : ""].join(""),
    [documentOf(run, peak.source), peak.superseded_by ? `; superseded by ${documentOf(run, peak.superseded_by)}` : ""].join("") || "derived",
    facts.map(([id, fact]) => fact ? `${fact.printed ? `${fact.printed} ${fact.printed_unit}`.trim() : ""} in ${fact.locator}` : id).join("; "),
  ];
};
const peakUnit = (metric) => metric.includes("flops") ? "FLOP/s" : metric.includes("bandwidth") ? "B/s" : metric.includes("latency") ? "s" : "";
const peakBlock = (run, each) => {
  const choices = each.judgement ? [each.judgement.peaks] : each.reference_peaks;
  return block("peak", "The peak it is compared with", choices.length ? choices.flatMap((choice) => [
    tableOf("The peak and its alternatives", ["figure#", "how", "document", "where"], [
      ...[[choice.chosen, `taken by the policy ${choice.policy}`], ...choice.alternatives.map((peak) => [peak, peak.policy ? `policy ${peak.policy}` : ""])]
        .map(([peak, why], at) => { const [value, how, document, where] = peakRows(run, peak); return [at ? value : make("b", {}, value), [how, why && make("small", {}, why)], document, where]; }),
      ...(choice.engine_bound && !choice.alternatives.some((peak) => peak.policy === "engine")
        ? [(([value, how, ...rest]) => [value, [how, make("small", {}, "what the clocks allow")], ...rest])(peakRows(run, choice.engine_bound))] : []),
    ]),
    choice.note && note(clip(choice.note)),
  ]) : note("No document gives a figure for this metric, so no share is taken of one."));
};
const disputesBlock = (run, each) => {
  const peaks = [...(each.judgement ? [each.judgement.peaks] : each.reference_peaks)].flatMap((choice) => [choice.chosen, ...choice.alternatives]);
  const metrics = new Set(peaks.map((peak) => peak.metric));
  const system = run.field("systems")[each.case.instance];
  const subjects = new Set([each.case.instance, system?.device, system?.core, ...peaks.flatMap((peak) => peak.facts.map((id) => run.factOf(id)?.subject))]);
  const sources = new Set(peaks.map((peak) => peak.source));
  // One that names no metric speaks of these figures where two of their documents are sides of it.
  const speaks = (dispute) => dispute.metric ? metrics.has(dispute.metric) : dispute.sources.filter((id) => sources.has(id)).length > 1;
  const found = (run.field("books")[each.case.generation]?.disputes ?? [])
    .filter((dispute) => speaks(dispute) && dispute.subjects.some((subject) => subjects.has(subject)));
  return block("disputes", "Documents that disagree", found.map((dispute) => make("div", {},
    make("p", {}, make("b", {}, dispute.id), " ", clip(dispute.topic)),
    make("ul", {}, dispute.values.map((value) => make("li", {}, clip(value)))),
    note("Sources: ", dispute.sources.map((id) => documentOf(run, id)).join("; "), dispute.note ? `. ${clip(dispute.note)}` : ""))));
};

const assumptionsBlock = (run, each, id) => {
  const book = run.field("books")[each.case.generation]?.assumptions ?? {};
  const named = each.notes.map((text) => /^assumed ([\w-]+): (.*)$/s.exec(text)).filter(Boolean);
  const links = sensitivity(run, each);
  return block("assumptions", "What is assumed", named.length ? [
    tableOf("Assumptions of this case", ["assumption", "taken#", "plausible#", "why"], named.map(([, name, taken]) => {
      const found = book[name], unit = found ? peakUnit(found.metric) : "";
      return [name, taken, found ? `${show(found.low, unit)} to ${show(found.high, unit)}` : "not bounded", found ? clip(found.reason, 500) : ""];
    })),
    note("What either end of each range would do to this number is worked out by emulating the case again. This prints it:"),
    copyable(`trnbench runs assumptions ${quoted(run.id)} ${quoted(id)}`),
    links && note("Starts of messages, and documents that can be read two ways:"),
    links && copyable(links),
  ] : each.evidence.grade === "emulated" && note("This case names no assumption."));
};

const bars = (rows, total) => {
  const width = 250, ends = rows.reduce((found, [, seconds]) => [...found, (found.at(-1) ?? 0) + seconds], []);
  const most = Math.max(total, ...ends), px = (seconds) => width * Math.max(seconds, 0) / most;
  return tableOf("From the peak to the time", ["what", "time#", "of all#", "from start to end"], [
    ...rows.map(([name, seconds], at) => {
      const start = at ? ends[at - 1] : 0, [low, high] = [Math.min(start, ends[at]), Math.max(start, ends[at])];
      return [clip(name, 80), show(seconds, "s"), percent(seconds / total), draw("svg", { class: "fall", width, height: 12, "aria-hidden": "true" },
        draw("rect", { class: at ? seconds < 0 ? "won" : "lost" : "work", x: px(low).toFixed(1), y: 1, width: Math.max(px(high) - px(low), 1).toFixed(1), height: 10 }))];
    }),
    ["in all", show(total, "s"), percent(1), ""],
  ]);
};
const waterfallBlock = (each) => {
  const terms = termsOf(each);
  const worst = terms.slice(1).reduce((found, term) => !found || term[1] > found[1] ? term : found, null);
  return block("waterfall", worst ? `Where the time goes: most to ${clip(worst[0], 60)}` : "Where the time goes",
    terms.length ? bars(terms, each.time_s) : each.parts.length
      ? [tableOf("Parts of the time", ["part", "alone it takes#"], each.parts.map((part) => [part.name, show(part.seconds, "s")])), note("Parts overlap; they do not add up to the time.")]
      : each.time_s !== null && note("The run keeps no parts of this time."),
    terms.length && worst ? note(`Without ${clip(worst[0], 60)} the case would take ${show(each.time_s - worst[1], "s")}, ${percent(worst[1] / each.time_s)} less, if nothing else became the limit.`) : null,
    each.bound && note(`Limited by: ${clip(each.bound, 80)}.`));
};
const timelineBlock = (run, each, id) => {
  const drawn = timelineOf(each);
  const trace = `trnbench runs trace ${quoted(run.id)} ${quoted(id)} -o trace.json`;
  return block("timeline", "Timeline by engine", drawn && [
    drawn,
    rowsOf(Object.entries(each.detail.busy ?? {}).filter(([, seconds]) => Number.isFinite(seconds)).map(([name, seconds]) => [name, `busy ${show(seconds, "s")}, ${percent(seconds / each.time_s)}`])),
    make("p", { class: "row" }, make("button", { type: "button", onclick: () => save(`${id}.perfetto.json`, "application/json", perfettoOf(run, each, id)) }, "Save for Perfetto")),
    ...hotLines(each),
    note("The run keeps a busy share of each span. Every instruction with its source line, to open at ui.perfetto.dev:"),
    copyable(trace),
  ]);
};
// Lines overlap: engines work beside each other.
const hotLines = (each) => {
  const found = linesOf(each);
  return found.length ? [
    tableOf("Source lines that take longest", ["line", "source", "time#", "of all#"], found.map(([place, text, seconds]) => [
      clip(place, 60), make("code", {}, clip(text, 100)), show(seconds, "s"), percent(seconds / each.time_s)])),
    note("Time in which a line keeps its engine, or the DMA engines, busy. Lines overlap and do not add up to the time."),
  ] : typeof each.detail.command === "string" && each.detail.command ? [
    note("This run was stored before source lines were kept. This prints them:"), copyable(clip(`${each.detail.command.split(" --trace ")[0]} --lines`, 1000))] : [];
};
const linksBlock = (each) => {
  const { by_algorithm: tried, hottest_links: hottest } = each.detail;
  const times = tried && typeof tried.seconds === "object" && tried.seconds ? Object.entries(tried.seconds).filter(([, seconds]) => Number.isFinite(seconds)).sort((a, b) => a[1] - b[1]) : [];
  return block("links", "Links and algorithms",
    times.length && tableOf("Algorithms", ["algorithm", "time#", "beside the one taken#"], times.map(([name, seconds]) => [
      name === tried.taken ? make("b", {}, `${name} (taken)`) : name, show(seconds, "s"), `${fixed(seconds / (tried.seconds[tried.taken] ?? each.time_s), 2)}×`])),
    Array.isArray(hottest) && hottest.length && tableOf("Hottest links", ["link", "carried#", "load#"], hottest.filter((link) => Array.isArray(link) && Number.isFinite(link[1]) && Number.isFinite(link[2]))
      .map(([name, bytes, load]) => [String(name), show(bytes, "B"), percent(load)])));
};

const publishedRow = (point) => [make("a", { href: `#point=${encodeURIComponent(point.id)}` }, point.id),
  typeof point.published === "number" ? show(point.published, point.unit) : "–",
  typeof point.emulated === "number" ? show(point.emulated, point.unit) : "–", signedError(point.e), clip(point.source, 200)];
const PUBLISHED = ["point", "published#", "model#", "time, model over published#", "source"];
const publishedBlock = (run, each) => {
  const nearest = each.evidence.nearest;
  const found = (nearest?.points ?? []).map((id) => run.published.get(id)).filter(Boolean);
  const missing = (nearest?.points ?? []).filter((id) => !run.published.has(id));
  return block("published", "Nearest published points", nearest && [
    found.length ? tableOf("Nearest published points", PUBLISHED, found.map(publishedRow)) : null,
    missing.length ? note(`Named, but not kept in this run: ${missing.join(", ")}.`) : null,
    !found.length && !missing.length ? note("Nothing is published of this kernel, its operation or its family on this generation.") : null,
    nearest.best && note(`Best published: ${show(nearest.best.value, nearest.best.unit)}${nearest.best.at ? ` at ${nearest.best.at}` : ""}, ${clip(nearest.best.source, 240)}.`),
  ]);
};
const timedBlock = (run, each) => block("timed", "How it was timed", rowsOf([
  ["implementation", clip(each.implementation)], ["clock", each.clock], ["samples", each.samples.length && whole(each.samples.length)],
  ["ended by", each.stop_reason], ["model or device", clip(each.evidence.note)], ["stability", each.stability?.verdict],
  ["question", typeof each.detail.asks === "string" ? clip(each.detail.asks) : ""],
  ["put to the test", Array.isArray(each.detail.tests) ? each.detail.tests.map((told) => clip(`${told?.source}, ${told?.locator}: ${told?.says}`)).join("; ") : ""],
]), each.notes.length > 0 && make("ul", {}, each.notes.map((text) => make("li", {}, clip(text)))),
Object.keys(each.counters).length > 0 && make("details", {}, make("summary", {}, "Counters"), rowsOf(Object.entries(each.counters).map(([name, count]) => [name, whole(count)]))));
const repeatBlock = (run, each) => block("repeat", "Repeat it",
  repeats(run, each) ? copyable(repeats(run, each)) : note("It was imported, or made from Python: the run keeps no command that repeats it."),
  typeof each.detail.command === "string" && each.detail.command ? [note("The kernel alone, with its timeline:"), copyable(clip(each.detail.command, 1000))] : null);
const othersBlock = (run, each, id, others) => block("others", "In the other runs of this page", others.filter((other) => other !== run).map((other) => {
  const place = other.places.get(id);
  if (place === undefined) return note(`Run ${other.id} has no such case.`);
  const found = other.case(place).value, metric = primaryOf(found), mine = primaryOf(each);
  const same = metric && mine && metric.unit === mine.unit && mine.value;
  return make("p", {}, `Run ${other.id}: `, make("a", { href: addressOf(other, id) }, metric ? show(metric.value, metric.unit) : found.status),
    ` (${found.evidence.grade})`, same ? `, ${fixed(metric.value / mine.value, 3)} of this one` : "");
}));

// Where a word of the address leads, beside the names of metrics.
const PLACES = { share: "formula", peak: "peak", since: "peak", clock: "peak", expect: "value", published: "published", loss: "waterfall", busy: "timeline" };
const explained = (run, place, asked, others) => {
  const each = run.case(place).value, id = run.nameOf(place);
  const time = { name: "time_s", value: each.time_s, unit: "s", formula: "median of the samples, or the modelled time", scope: each.case.scope, direction: "" };
  const metric = each.metrics[asked] ?? (asked === "time_s" && each.time_s !== null ? time : primaryOf(each));
  const point = Object.entries(each.case.point).map(([name, value]) => `${name}=${value}`).join(", ");
  return {
    title: clip(each.case.kernel, 80),
    about: clip([each.case.instance, reachOf(each.case.scope, each.case.division), point].filter(Boolean).join(" · "), 400),
    to: PLACES[asked],
    blocks: [
      valueBlock(run, each, metric), formulaBlock(run, each, id, metric), peakBlock(run, each), disputesBlock(run, each), assumptionsBlock(run, each, id),
      waterfallBlock(each), timelineBlock(run, each, id), linksBlock(each), publishedBlock(run, each), othersBlock(run, each, id, others),
      timedBlock(run, each), repeatBlock(run, each),
    ].filter(Boolean),
  };
};
const explainedPoint = (run, point) => ({
  title: clip(point.id, 120),
  about: `published measurement · ${point.generation} · ${point.family}`,
  blocks: [block("value", "Published and model", tableOf("Published and model", PUBLISHED, [publishedRow(point)]),
    rowsOf([["quantity", metricWords(point.quantity)], ["what became of it", point.use], ["the model has seen it", point.honesty], ["votes as", point.vote],
      ["how it was emulated", clip(point.how)], ["sources span", point.span && ranged(point.span, point.unit)], ["error without it in the fit", typeof point.e_cross === "number" ? signedError(point.e_cross) : ""],
      ["confidence", point.confidence], ["source", clip(point.source)]])),
  block("repeat", "Repeat it", copyable(`trnbench validate points --family ${quoted(point.family)} --generation ${quoted(point.generation)}`))],
});
