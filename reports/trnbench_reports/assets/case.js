// ---- a case over the runs, by its permalink: case.html#case=ID, its axes in any order; #step=RUN lists what changed
document.documentElement.classList.add("on");
const SHOWN = 200;
const inOrder = (id) => id.replace(/\[(.*)\]/s, (_, axes) => `[${axes.split(",").sort().join(",")}]`).replace(/:replicated$/, "");
const known = lazily(async () => column(await (await unpacked("history-data")).json()));
const whole_ = lazily(async () => new Part(await known(), 0));
const series = lazily(async () => {
  const part = (await whole_()).at("series");
  return Array.from({ length: part.size }, (_, at) => part.at(at));
});
// What counts of a series as a line, the height of a word, and a mark where its level changes: as sparkline.py draws it.
const lineOf = (each) => {
  const { values, statuses, steps, unit, runs: places } = each.value;
  const counted = values.map((value, at) => [at, value]).filter(([at, value]) => value > 0 && ["ok", "document-low"].includes(statuses[at]));
  if (!counted.length) return "";
  const found = counted.map(([, value]) => value), low = Math.min(...found), high = Math.max(...found), last = Math.max(values.length - 1, 1);
  const middle = (low + high) / 2, half = Math.max((high - low) / 2, 0.005 * high);
  const place = (at, value) => `${(2 + 146 * at / last).toFixed(1)} ${(11 - 9 * (value - middle) / half).toFixed(1)}`;
  const marks = steps.map(([run, , way]) => {
    const before = places.filter((place) => place < run).length;
    const at = places.includes(run) ? before - 0.5 : values.length > 1 ? before - 1 : last;
    return `<path class="${["worse", "better"].includes(way) ? way : "other"}" d="M${place(at, middle - half)}L${place(at, middle + half)}"/>`;
  });
  const path = counted.map((pair) => place(...pair)), [x, y] = path.at(-1).split(" "), template = document.createElement("template");
  template.innerHTML = `<svg class="spark" width="150" height="22" viewBox="0 0 150 22" role="img">${marks.join("")}<path class="trend" d="M${path.join("L")}"/><circle cx="${x}" cy="${y}" r="2"/></svg>`;
  template.content.firstChild.setAttribute("aria-label",
    `${plural(values.length, "run")}, ${low === high ? "" : `${show(low, unit)} to `}${show(high, unit)}, ${plural(steps.length, "step")}`);
  return template.content;
};
const linkTo = (each) => make("a", { href: `#case=${encodeURIComponent(each.at("case").value)}` }, each.at("case").value);
const latest = (each) => {
  const value = each.at("values").value.findLast((found) => found !== null);
  return value === undefined ? "–" : show(value, each.at("unit").value);
};
const listed = (found) => tableOf("Cases", ["Case", "Evidence", "Runs#", "Trend", "Latest#", "Steps#"], found.slice(0, SHOWN).map((each) =>
  [linkTo(each), each.at("by").value, String(each.at("runs").size), lineOf(each), latest(each), String(each.at("steps").size)]));
const told = (each, runs) => {
  const { case: id, metric, unit, by, machine, runs: places, values, statuses, steps } = each.value;
  const stepAt = new Map(steps.map(([place, words]) => [place, words]));
  return [
    make("h2", {}, `${metric}, ${by}${machine ? `, ${machine}` : ""}`), lineOf(each),
    tableOf(`${metric} by run`, ["Run", "Made", "Commit", "trnbench", "Status", "Result#", "Change"], places.map((place, at) => {
      const run = runs[place];
      return [make("a", { href: `${run.page}#case=${encodeURIComponent(id)}` }, run.id), run.created.slice(0, 16).replace("T", " "),
        `${run.commit.slice(0, 10) || "–"}${run.dirty ? " and changes" : ""}`, run.version, statuses[at],
        values[at] === null ? "–" : show(values[at], unit), stepAt.get(place) ?? ""];
    }).reverse()),
  ];
};
const follow = async () => {
  const query = new URLSearchParams(location.hash.slice(1)), holder = byId("case"), list = byId("cases"), form = byId("find-case");
  try {
    const runs = (await whole_()).at("runs").value, all_ = await series();
    const id = query.get("case"), step = query.get("step"), sought = words(one("input", form).value);
    const mine = id === null ? [] : all_.filter((each) => inOrder(each.at("case").value) === inOrder(id));
    holder.replaceChildren(...(id === null ? [] : mine.length ? [make("p", { class: "lead" }, make("code", {}, mine[0].at("case").value)), ...mine.flatMap((each) => told(each, runs))]
      : [make("p", { class: "lead" }, "No run of this site has this case: ", make("code", {}, id))]));
    let others = all_.filter((each) => sought.every((word) => each.at("case").value.toLowerCase().includes(word)));
    if (step !== null) others = others.filter((each) => each.at("steps").value.some(([place]) => runs[place].id === step));
    one("output", form).textContent = `${whole(Math.min(others.length, SHOWN))} of ${plural(others.length, "series")}`.replace("seriess", "series");
    list.replaceChildren(...(id !== null && !sought.length ? [] : [listed(others)]));
  } catch (error) { holder.replaceChildren(make("p", {}, error.message)); }
};
let waiting = 0;
byId("find-case").addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(follow, 80); });
byId("find-case").addEventListener("submit", (event) => { event.preventDefault(); follow(); });
addEventListener("hashchange", follow);
follow();
