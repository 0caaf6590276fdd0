// ---- the timeline of a case: how busy each engine was in each equal span of the time
const stripOf = (each) => Object.entries(each.detail.strip ?? {})
  .filter(([, digits]) => typeof digits === "string" && /^\d{2,400}$/.test(digits))
  .map(([name, digits]) => [name, [...digits].map((digit) => Number(digit) / 9)]);

// [place, text, seconds] of the source lines that take longest, and for each engine which one it was at when.
const linesOf = (each) => (Array.isArray(each.detail.lines) ? each.detail.lines : [])
  .filter((line) => Array.isArray(line) && line.length === 3 && typeof line[0] === "string" && typeof line[1] === "string" && Number.isFinite(line[2]));
const lineAt = (each, name, span) => {
  const digit = each.detail.line_strip?.[name]?.[span];
  const line = /^\d$/.test(digit ?? "") ? linesOf(each)[Number(digit)] : null;
  return line ? `, ${clip(line[0], 60)} ${clip(line[1], 60)}` : "";
};

const WIDE = 600, ROW = 22, LEFT = 74;
const timelineOf = (each) => {
  const rows = stripOf(each);
  if (!rows.length || !each.time_s) return null;
  const spans = Math.max(...rows.map(([, shares]) => shares.length)), high = ROW * rows.length;
  let from = 0, to = spans, at = -1;
  const canvas = draw("svg", {
    class: "chart timeline", viewBox: `0 0 ${WIDE} ${high + 34}`, tabindex: 0, role: "img",
    "aria-label": "Timeline by engine. Plus and minus zoom, arrows move, Home shows all.",
  });
  const said = make("p", { class: "note", role: "status" });
  const time = (span) => show(each.time_s * span / spans, "s");
  const px = (span) => LEFT + (WIDE - LEFT - 4) * (span - from) / (to - from);
  const tell = (span) => {
    at = span;
    const busy = rows.filter(([, shares]) => shares[span] > 0);
    said.replaceChildren(...(span < 0 ? [] : [`${time(span)} to ${time(span + 1)}`, ...busy.map(([name, shares]) =>
      make("span", { class: "lane" }, make("b", {}, name), ` ${Math.round(shares[span] * 100)}${GAP}%${lineAt(each, name, span)}`))]));
    one(".cursor", canvas)?.setAttribute("x", span < from || span >= to ? -99 : px(span).toFixed(1));
  };
  const paint = () => {
    const marks = rows.map(([name, shares], row) => draw("g", {},
      draw("text", { x: LEFT - 6, y: row * ROW + 15, "text-anchor": "end" }, clip(name, 12)),
      shares.map((share, span) => span >= from && span < to && share > 0 ? draw("rect", {
        class: "busy", x: px(span).toFixed(1), y: (row * ROW + 2 + (ROW - 4) * (1 - share)).toFixed(1),
        width: (px(span + 1) - px(span)).toFixed(1), height: ((ROW - 4) * share).toFixed(1),
      }) : null),
      draw("path", { class: "grid", d: `M${LEFT} ${(row + 1) * ROW - 2}H${WIDE - 4}` })));
    const ticks = [0, 0.5, 1].map((share) => from + (to - from) * share);
    canvas.replaceChildren(...marks,
      draw("rect", { class: "cursor", x: -99, y: 0, width: Math.max(px(from + 1) - px(from), 1).toFixed(1), height: high }),
      ...ticks.map((tick, number) => draw("text", { x: px(tick).toFixed(1), y: high + 18, "text-anchor": ["start", "middle", "end"][number] }, time(tick))));
    tell(at);
  };
  const look = (middle, size) => {
    const wide = Math.round(Math.min(Math.max(size, 4), spans));
    from = Math.round(Math.min(Math.max(middle - wide / 2, 0), spans - wide));
    to = from + wide;
    paint();
  };
  const zoom = (factor) => look(at >= from && at < to ? at + 0.5 : (from + to) / 2, (to - from) * factor);
  const move = (share) => look((from + to) / 2 + share * (to - from), to - from);
  canvas.addEventListener("pointermove", (event) => {
    const box = canvas.getBoundingClientRect();
    const span = Math.floor(from + (to - from) * ((event.clientX - box.x) / box.width * WIDE - LEFT) / (WIDE - LEFT - 4));
    tell(span >= from && span < to ? span : -1);
  });
  canvas.addEventListener("pointerleave", () => tell(-1));
  canvas.addEventListener("dblclick", () => zoom(0.5));
  canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step && event.shiftKey) move(step / 4);
    else if (step) {
      const next = Math.min(Math.max(at < 0 ? (step > 0 ? from : to - 1) : at + step, 0), spans - 1);
      tell(next);
      if (next < from || next >= to) look(next, to - from);
    } else if (event.key === "+" || event.key === "=") zoom(0.5);
    else if (event.key === "-") zoom(2);
    else if (event.key === "Home") look(spans / 2, spans);
    else return;
    event.preventDefault();
  });
  paint();
  const button = (name, label, action) => make("button", { type: "button", "aria-label": label, onclick: action }, name);
  return make("div", {}, canvas, said, make("p", { class: "row" },
    button("+", "zoom in", () => zoom(0.5)), " ", button("−", "zoom out", () => zoom(2)), " ",
    button("←", "earlier", () => move(-0.5)), " ", button("→", "later", () => move(0.5)), " ",
    button("All", "the whole time", () => look(spans / 2, spans))));
};

// What ui.perfetto.dev opens: a counter for each engine.
const perfettoOf = (run, each, id) => {
  const events = stripOf(each).flatMap(([name, shares]) => shares.map((share, span) => ({
    name, ph: "C", pid: 1, ts: each.time_s * 1e6 * span / shares.length, args: { "busy share": share },
  })));
  const about = { tool: `trnbench ${run.field("tool_version")}`, run: run.id, case: id, latency_s: each.time_s, evidence: each.evidence.grade };
  return JSON.stringify({ displayTimeUnit: "ns", otherData: about, traceEvents: events });
};
