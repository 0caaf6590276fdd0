// ---- static tables: sorted by their heads, filtered by the form that names them
const sorted = (rows, keyOf, falling) => rows.map((row, at) => [keyOf(row), at, row]).sort(([a, i], [b, j]) => {
  const [none, nor] = [a === null || a === "", b === null || b === ""];
  if (none || nor) return none - nor || i - j;  // what has no value stays last either way
  const order = typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true });
  return (falling ? -order : order) || i - j;
}).map(([, , row]) => row);
// A head becomes a button; `sort(falling)` is called with what was not so before.
const sortable = (head, sort, first = false) => {
  const button = make("button", { type: "button", class: "sort" }, ...[...head.childNodes].map((node) => node.cloneNode(true)));
  head.replaceChildren(button);
  button.addEventListener("click", () => {
    const was = head.getAttribute("aria-sort");
    const falling = was ? was === "ascending" : first;
    for (const other of head.parentElement.cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", falling ? "descending" : "ascending");
    sort(falling);
  });
};
const sortTables = (root) => {
  for (const table of all("table.sorts", root)) {
    [...table.tHead.rows].at(-1).querySelectorAll("th[data-sort]").forEach((head) => {
      const at = head.cellIndex, number = head.dataset.sort === "n";
      const keyOf = (group) => {
        const cell = (group.rows?.[0] ?? group).cells[at], told = cell?.dataset.v ?? cell?.textContent.trim() ?? "";
        return !number ? told : told === "" || Number.isNaN(Number(told)) ? null : Number(told);
      };
      sortable(head, (falling) => {
        // Rows of one body are sorted in it; a body of its own goes with all its rows.
        if (table.tBodies.length > 1) table.append(...sorted([...table.tBodies], keyOf, falling));
        else table.tBodies[0].append(...sorted([...table.tBodies[0].rows], keyOf, falling));
      }, number);
    });
  }
};

const words = (text) => text.toLowerCase().split(/\s+/).filter(Boolean);
const filterTables = (root) => {
  for (const form of all("form.filters[data-for]", root)) {
    const table = byId(form.dataset.for), out = one("output", form);
    if (!table) continue;
    const rows = () => all("tbody tr", table).filter((row) => Object.keys(row.dataset).length > 0);
    const filter = () => {
      const wanted = all("select", form).filter((each) => each.value).map((each) => [each.name, each.value]);
      const sought = words(one("input[name=q]", form)?.value ?? "");
      let shown = 0, total = 0;
      for (const row of rows()) {
        const kernel = row.dataset.k ?? one("[data-k]", row.parentElement)?.dataset.k ?? "";
        const text = `${row.textContent} ${kernel}`.toLowerCase();
        row.hidden = !(wanted.every(([name, value]) => row.dataset[name] === undefined || row.dataset[name].split("|").includes(value)) && sought.every((word) => text.includes(word)));
        if (!row.classList.contains("more")) { total += 1; shown += row.hidden ? 0 : 1; }
      }
      table.closest(".fold")?.classList.toggle("sought", wanted.length + sought.length > 0);
      if (out) out.textContent = wanted.length || sought.length ? `${whole(shown)} of ${plural(total, "row")}` : "";
    };
    let waiting = 0;
    form.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(filter, 80); });
    form.addEventListener("submit", (event) => { event.preventDefault(); filter(); });
    form.addEventListener("reset", () => setTimeout(filter));
  }
};
const unfold = (root) => {
  for (const button of all(".twist", root)) {
    const body = button.closest("tbody");
    const set = (open) => { body.classList.toggle("open", open); button.setAttribute("aria-expanded", String(open)); };
    set(false);
    button.addEventListener("click", () => set(!body.classList.contains("open")));
  }
};
