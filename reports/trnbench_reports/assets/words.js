// ---- what is said of a case, as plain values: view.py and the core's expectation say the same
const GRADES = { measured: "M", emulated: "E", documented: "D", published: "P", derived: "F" };
const REACHES = { "logical-core": "logical core" };
const reachOf = (scope, division) => [REACHES[scope] ?? scope, division].filter(Boolean).join(", ");
const primaryOf = (each) => each.metrics[each.primary];
const grey = (each) => each.evidence.grade === "emulated" && each.time_s !== null && !each.evidence.nearest?.band;
const nearness = (each) => each.evidence.nearest?.kind
  ?? (each.evidence.grade === "emulated" && each.time_s !== null ? "nearness not recorded" : "");

// Seconds under which clocks and rates allow no time; 0 where no document has one.
const leastTime = (each) => {
  const judged = each.judgement, stored = each.detail?.bound_s;
  if (each.time_s === null) return 0;
  const bound = Number.isFinite(stored) && stored > 0 ? stored : 0;
  if (!judged) return bound;
  let share = judged.of_engine_bound;
  if (typeof share !== "number" && judged.peaks.chosen.evidence !== "measured") {
    const chosen = judged.peaks.chosen.value;
    const figures = [chosen, ...(judged.peaks.alternatives ?? []).map((peak) => peak.value)];
    const lower = each.metrics[judged.metric]?.better === "lower";
    share = judged.fraction * (lower ? Math.min(...figures) / chosen : chosen / Math.max(...figures));
  }
  return Math.max(each.time_s * Math.min(share || 0, 1), bound);
};
// Least and most seconds that the band lets one expect; null without a band.
const expectedTime = (each) => {
  const band = each.evidence.nearest?.band, time = each.time_s;
  if (!band || time === null) return null;
  const least = Math.max(time * Math.exp(-band.high), Math.min(leastTime(each), time));
  return [least, Math.max(time * Math.exp(-band.low), least)];
};
// The same of a metric.
const expectedOf = (each, metric) => {
  const times = expectedTime(each);
  if (!times || !metric) return null;
  if (metric.unit === "s") return times;
  if (!metric.unit.endsWith("/s")) return null;
  return [metric.value * each.time_s / times[1], metric.value * each.time_s / times[0]];
};
const ranged = ([low, high], unit) => {
  const texts = [show(low, unit), show(high, unit)];
  const units = texts.map((text) => text.slice(text.lastIndexOf(GAP)));
  return units[0] === units[1] && texts[0].includes(GAP)
    ? `${texts[0].slice(0, texts[0].lastIndexOf(GAP))}–${texts[1]}` : texts.join("–");
};

// An error of a time, ln(model / published): +302 %, −35 %, ÷2.7.
const factorText = (e) => {
  const factor = Math.exp(e);
  return fixed(factor, factor >= 9.95 ? 0 : factor >= 1.095 ? 1 : 2);
};
const signedError = (e) => {
  if (typeof e !== "number") return "–";
  if (e <= -Math.LN2) return `÷${factorText(-e)}`;
  const share = Math.abs(Math.expm1(e)) * 100;
  const text = `${fixed(share, share >= 9.95 ? 0 : 1)}${GAP}%`;
  return text === `0.0${GAP}%` ? text : (e > 0 ? "+" : "−") + text;
};

// From the peak a case is judged by to its time: [name, seconds] in their order, none where none add up.
const JUDGED = "the peak it is judged by", AT_PEAK = " at its peak";
const termsOf = (each) => {
  const { waterfall, waterfall_s: links } = each.detail;
  const found = waterfall ?? (links && typeof links === "object" && !Array.isArray(links) ? Object.entries(links) : null);
  if (!each.time_s || !Array.isArray(found) || found.length < 2) return [];
  if (!found.every((term) => Array.isArray(term) && term.length === 2 && Number.isFinite(term[1]))) return [];
  const terms = found.map(([name, seconds]) => [String(name), seconds]);
  if (Math.abs(terms.reduce((sum, [, seconds]) => sum + seconds, 0) - each.time_s) > 1e-6 * each.time_s) return [];
  const peak = each.judgement ? each.judgement.fraction * each.time_s : 0;
  if (!waterfall || !Number.isFinite(peak) || peak <= 0) return terms;
  const [[limit, seconds], ...rest] = terms, step = seconds - peak;
  if (Math.abs(step) <= 1e-6 * each.time_s) return [[JUDGED, seconds], ...rest];
  const name = limit.endsWith(AT_PEAK) ? limit.slice(0, -AT_PEAK.length) : limit;
  return [[JUDGED, peak], [`limit of ${name} in the model`, step], ...rest];
};

const documentOf = (run, id) => {
  const source = run.sourceOf(id);
  return source ? [source.document, source.version, source.date].filter(Boolean).join(", ") : id;
};
const METRIC_WORDS = {
  flops_per_s: "arithmetic rate", hbm_bytes_per_s: "device memory bandwidth", busbw_bytes_per_s: "bus bandwidth", algbw_bytes_per_s: "algorithm bandwidth",
  time_s: "time", latency_s: "time", flops_per_hbm_byte: "arithmetic intensity",
};
const metricWords = (name) => METRIC_WORDS[name] ?? name.replace(/_(bytes_)?per_s$/, "").replaceAll("_", " ");

// A word of a shell, quoted where it must be.
const quoted = (word) => /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'"'"'`)}'`;
// The fact files that were typed, as words of a command; what is configured holds for a repetition as well.
const factsOf = (run) => run.field("argv").flatMap((word, at, words) => word === "--facts" ? words.slice(at, at + 2) : word.startsWith("--facts=") ? [word] : []);
// The command of a case: that of the whole run where it is a step of a model, "" where it was imported.
const repeats = (run, each) => {
  const { imported_from: imported, selection } = run.field("settings");
  if (imported) return "";
  if (selection?.workload) return run.field("argv").map(quoted).join(" ");
  const { kernel, instance, scope, point, division } = each.case;
  const words = ["trnbench", "run", kernel, "-i", instance, "--scope", scope];
  if (division) words.push("--division", division);
  for (const [name, value] of Object.entries(point)) words.push("-a", `${name}=${value}`);
  if (run.field("policy") !== "seed") words.push("--peak", run.field("policy"));
  if (run.field("backend") && run.field("backend") !== "emulated") words.push("--backend", run.field("backend"));
  words.push(...factsOf(run));
  return words.map(quoted).join(" ");
};
// What asks for the assumptions of links; "" for what is no collective by itself: groups of ranks, what sends by tokens.
const sensitivity = (run, each) => {
  const { kernel, family, instance, point, tags } = each.case;
  if (family !== "collective" || tags.includes("groups") || !("waterfall_s" in each.detail)) return "";
  return ["trnbench", "fabric", "sensitivity", kernel, "-i", instance, ...(point.size ? ["-b", String(point.size)] : []), ...factsOf(run)].map(quoted).join(" ");
};
