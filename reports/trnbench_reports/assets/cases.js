// ---- all cases: one table, made from the data when it is first shown, a page of rows at a time
const PAGE = 100;
const FIELDS = [["y", "System"], ["k", "Kernel"], ["d", "Data type"], ["g", "Scope"], ["e", "Evidence"], ["t", "Status"], ["r", "Run"]];
const COLUMNS = [
  ["kernel", "Kernel"], ["system", "System"], ["scope", "Scope"], ["point", "Point"], ["value", "Result", true], ["expect", "Expect", true],
  ["share", "% of peak", true], ["time", "Time", true], ["bound", "Limited by"], ["grade", "Evidence"], ["near", "Nearest"], ["status", "Status"],
];
// What filters and sorting look at, read from the columns of the data; the case itself is not put together.
const listedOf = (run) => Array.from({ length: run.count }, (_, place) => {
  const part = run.case(place), key = part.at("case"), word = (...keys) => part.at(...keys)?.value ?? "";
  const points = run.points(place), metric = part.at("metrics", part.at("primary").value), number = (found) => found ? found.value : null;
  const grade = word("evidence", "grade"), time = number(part.at("time_s"));
  const row = {
    run, place, kernel: key.at("kernel").value, system: key.at("instance").value, scope: reachOf(key.at("scope").value, key.at("division")?.value), points,
    point: points.map((pair) => pair.join("=")).join(", "), dtype: points.find(([name]) => name === "dtype")?.[1] ?? "",
    unit: metric?.at("unit").value ?? "", value: number(metric?.at("value")), share: number(part.at("judgement", "fraction")), time,
    bound: word("bound"), grade, near: word("evidence", "nearest", "kind") || (grade === "emulated" && time !== null ? "nearness not recorded" : ""),
    status: word("status"), reason: word("reason_text"),
    bare: grade === "emulated" && time !== null && (part.at("evidence", "nearest", "band")?.text ?? "null") === "null",
  };
  row.text = `${row.kernel} ${row.system} ${row.scope} ${row.point} ${row.bound} ${row.grade} ${row.status} ${row.reason}`.toLowerCase();
  return row;
});
// An interval has two ends, and no order of its own.
const SORTED = COLUMNS.map(([name]) => name).filter((name) => name !== "expect");
const valueOfField = { y: (row) => row.system, k: (row) => row.kernel, d: (row) => row.dtype, g: (row) => row.scope, e: (row) => row.grade, t: (row) => row.status, r: (row) => row.run.id };
const keyOfColumn = {
  value: (row) => row.value, share: (row) => row.share, time: (row) => row.time,
};

const cellsOf = (row) => {
  const each = row.run.case(row.place).value, id = row.run.nameOf(row.place), metric = primaryOf(each);
  const expected = expectedOf(each, metric), bad = row.status === "suspect" || row.status === "failed";
  const link = (text, asked) => text ? make("a", { class: "figure", href: addressOf(row.run, id, asked) }, text) : "";
  const why = each.reason_text || each.reason || each.stability?.why || (each.judgement?.causes ?? []).join("; ");
  return [
    make("th", { scope: "row" }, make("a", { href: addressOf(row.run, id) }, clip(row.kernel, 60))),
    make("td", {}, clip(row.system, 60)), make("td", {}, row.scope), make("td", { class: "prose" }, clip(row.point, 120)),
    make("td", { class: "n", title: metric ? `${exact(metric.value)} ${metric.unit}` : null }, metric ? link(show(metric.value, metric.unit), metric.name) : "–"),
    make("td", { class: "n" }, expected ? link(ranged(expected, metric.unit), "expect") : "–"),
    make("td", { class: "n" }, each.judgement ? link(percent(each.judgement.fraction), "share") : "–"),
    make("td", { class: "n" }, each.time_s !== null ? link(show(each.time_s, "s"), "time_s") : "–"),
    make("td", {}, clip(row.bound, 40)), make("td", {}, row.grade), make("td", {}, row.near),
    make("td", { class: "prose" }, make("span", bad ? { class: "shout" } : {}, bad ? row.status.toUpperCase() : row.status), why ? `: ${clip(why, 160)}` : ""),
  ];
};

// On a phone a row is a card, and each of its values has its name.
const labelled = (cells) => cells.map((cell, at) => { cell.dataset.label = COLUMNS[at][1]; return cell; });

const casesTable = async (holder) => {
  const found = await runs(), rows = found.flatMap(listedOf);
  const choices = FIELDS.map(([name, label]) => [name, label, [...new Set(rows.map(valueOfField[name]))].filter(Boolean)]).filter(([, , values]) => values.length > 1);
  const search = make("input", { type: "search", name: "q", id: "cases-q", placeholder: "kernel, size, reason…" });
  const form = make("form", { class: "filters", role: "search", autocomplete: "off" },
    make("span", {}, make("label", { for: "cases-q" }, "Search"), search),
    choices.map(([name, label, values]) => make("span", {}, make("label", { for: `cases-${name}` }, label),
      make("select", { name, id: `cases-${name}` }, make("option", { value: "" }, "all"), values.map((value) => make("option", { value }, clip(value, 80)))))),
    make("span", {}, make("button", { type: "reset" }, "Clear"), " ", make("button", { type: "button", onclick: () => saveRows() }, "Save CSV")));
  const said = make("p", { class: "note", role: "status" }), body = make("tbody", {});
  const heads = COLUMNS.map(([name, label, number]) => make("th", { scope: "col", class: number ? "n" : null, "data-name": name }, label));
  const box = make("div", { class: "wide rolls", tabindex: 0, role: "region", "aria-label": "All cases: table" },
    make("table", { class: "data" }, make("thead", {}, make("tr", {}, heads)), body));
  const back = make("button", { type: "button", onclick: () => turn(-1) }, "Earlier rows"), next = make("button", { type: "button", onclick: () => turn(1) }, "Further rows");
  let shown = rows, order = "", page = 0;
  const paint = () => {
    const from = page * PAGE, mine = shown.slice(from, from + PAGE);
    body.replaceChildren(...mine.map((row) => make("tr", row.bare ? { class: "faint" } : {}, labelled(cellsOf(row)))));
    said.textContent = `${mine.length ? `${whole(from + 1)} to ${whole(from + mine.length)} of ` : ""}${plural(shown.length, "case")}${shown.length < rows.length ? `, of ${whole(rows.length)} in all` : ""}`;
    back.disabled = page === 0;
    next.disabled = from + PAGE >= shown.length;
    box.scrollTop = 0;
  };
  const turn = (by) => { page += by; paint(); };
  const choose = () => {
    const sought = words(search.value), wanted = choices.map(([name]) => [valueOfField[name], form.elements[name].value]).filter(([, value]) => value);
    shown = rows.filter((row) => wanted.every(([of, value]) => of(row) === value) && sought.every((word) => row.text.includes(word)));
    if (order) {
      const name = order.replace("-", ""), keyOf = keyOfColumn[name] ?? ((row) => row[name]);
      // Rates, bytes and times are no order of each other: each unit by itself.
      const units = name === "value" ? [...new Set(shown.map((row) => row.unit))] : [];
      shown = units.length > 1 ? units.flatMap((unit) => sorted(shown.filter((row) => row.unit === unit), keyOf, order[0] === "-")) : sorted(shown, keyOf, order[0] === "-");
    }
    page = 0;
    paint();
  };
  const remember = () => {
    const query = new URLSearchParams([["q", search.value], ...choices.map(([name]) => [name, form.elements[name].value]), ["sort", order]].filter(([, value]) => value));
    if (!drawer.open) safely(() => history.replaceState(history.state, "", `#cases${query.size ? `?${query}` : ""}`), null);
  };
  const recall = (query) => {
    search.value = query.get("q") ?? "";
    for (const [name] of choices) form.elements[name].value = query.get(name) ?? "";
    order = SORTED.includes((query.get("sort") ?? "").replace("-", "")) ? query.get("sort") : "";
    for (const head of heads) {
      head.removeAttribute("aria-sort");
      if (order.replace("-", "") === head.dataset.name) head.setAttribute("aria-sort", order[0] === "-" ? "descending" : "ascending");
    }
    choose();
  };
  const saveRows = () => {
    const cell = (value) => {
      const text = value === null ? "" : typeof value === "number" ? String(value) : /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
      return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
    };
    const lines = shown.map((row) => [row.run.id, row.run.nameOf(row.place), row.kernel, row.system, row.scope, row.point, row.value, row.unit, row.share, row.time, row.bound, row.grade, row.near, row.status, row.reason].map(cell).join(","));
    save(`${document.title}.csv`, "text/csv", `run,case,kernel,instance,scope,point,value,unit,fraction_of_peak,time_s,limited_by,evidence,nearness,status,reason\n${lines.map((line) => `${line}\n`).join("")}`);
  };
  heads.forEach((head, at) => SORTED.includes(COLUMNS[at][0]) && sortable(head, (falling) => { order = `${falling ? "-" : ""}${COLUMNS[at][0]}`; choose(); remember(); }, COLUMNS[at][2]));
  let waiting = 0;
  form.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(() => { choose(); remember(); }, 80); });
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(() => { order = ""; recall(new URLSearchParams()); remember(); }));
  holder.replaceChildren(form, said, box, make("p", { class: "row" }, back, " ", next));
  holder.recall = recall;
  recall(new URLSearchParams());
};
// Once, when it is first shown; `query` sets the filters.
const showCases = async (query) => {
  const holder = byId("all-cases");
  if (!holder) return;
  holder.started ??= casesTable(holder).catch((error) => { holder.replaceChildren(make("p", { class: "hint" }, error.message)); });
  await holder.started;
  if (query) holder.recall?.(query);
};
