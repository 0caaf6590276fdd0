(() => {
  "use strict";
  const one = (query, root = document) => root.querySelector(query);
  const all = (query, root = document) => [...root.querySelectorAll(query)];
  const byId = (id) => document.getElementById(id);
  const form = byId("filters"), tip = byId("tip"), live = byId("live"), matches = byId("matches");
  document.documentElement.classList.add("on");

  // ---- where we are: "#section?q=words&y=system", so that a view can be sent to a colleague
  const fields = ["q", "y", "k", "d", "e", "t"];
  const state = () => {
    const query = new URLSearchParams();
    for (const name of fields) if (form.elements[name].value) query.set(name, form.elements[name].value);
    return query.toString();
  };
  const read = () => {
    const [id, query = ""] = location.hash.slice(1).split("?");
    return { id: safely(() => decodeURIComponent(id), ""), query: new URLSearchParams(query) };
  };
  const safely = (action, otherwise) => { try { return action(); } catch { return otherwise; } };
  const address = (id) => "#" + encodeURIComponent(id) + (state() ? "?" + state() : "");
  const put = (id, push) => safely(() => history[push ? "pushState" : "replaceState"](null, "", address(id)), null);

  const reveal = (id) => {
    const target = byId(id);
    if (!target) return;
    for (let up = target; up; up = up.parentElement) {
      if (up.tagName === "DETAILS") up.open = true;
      up.hidden = up === tip;
    }
    all("tr.hit").forEach((row) => row.classList.remove("hit"));
    const row = target.tagName === "TR";
    if (row) target.classList.add("hit");
    if (!target.hasAttribute("tabindex")) target.tabIndex = -1;
    target.focus({ preventScroll: true });
    target.scrollIntoView({ block: row ? "center" : "start" });
  };
  document.addEventListener("click", (event) => {
    const link = event.target.closest('a[href^="#"]');
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    const id = decodeURIComponent(link.hash.slice(1));
    put(id, true);
    reveal(id);
    if (narrow.matches) byId("side").open = false;
  });

  // ---- search and filters
  for (const group of all("details.cases")) {
    const { kernel, e, t } = group.dataset;
    for (const row of all("tbody tr", group)) {
      const own = { k: kernel, d: "", e, t, ...row.dataset };
      for (const name in own) row.dataset[name] = own[name];
    }
  }
  for (const table of all(".board")) {
    for (const cell of all("td[data-label]:not(.none)", table)) {
      for (const name of "det") cell.dataset[name] ??= table.dataset[name];
    }
  }
  const texts = new WeakMap();
  const text = (row) => {
    if (!texts.has(row)) {
      const kernel = row.closest("details.cases")?.dataset.kernel ?? "";
      texts.set(row, `${row.textContent} ${kernel} ${row.dataset.k ?? ""}`.toLowerCase());
    }
    return texts.get(row);
  };
  const fits = (data, wanted) => wanted.every(([name, value]) => data[name] === undefined || data[name] === value);
  let active = false;
  const filter = () => {
    const words = form.elements.q.value.toLowerCase().split(/\s+/).filter(Boolean);
    const wanted = fields.slice(1).map((name) => [name, form.elements[name].value]).filter(([, value]) => value);
    const was = active;
    active = words.length + wanted.length > 0;
    if (!active && !was) return;
    let shown = 0, total = 0;
    for (const row of all(".data tbody tr")) {
      const source = (row.dataset.ref && byId(row.dataset.ref)) || row;
      row.hidden = !(fits(source.dataset, wanted) && words.every((word) => text(row).includes(word)));
      if (row.id) { total += 1; shown += row.hidden ? 0 : 1; }
    }
    for (const group of all("details.cases")) {
      const hits = all("tbody tr", group).filter((row) => !row.hidden).length;
      group.hidden = active && hits === 0;
      one(".hits", group).textContent = active ? `· ${hits} match` : "";
      if (active && shown <= 60 && hits) { if (!group.open) { group.open = true; group.dataset.auto = ""; } }
      else if ("auto" in group.dataset) { group.open = false; delete group.dataset.auto; }
    }
    for (const body of all(".board tbody")) board(body, words, wanted);
    const system = form.elements.y.value;
    for (const table of all(".board")) {
      all("thead th", table).forEach((head, index) => {
        head.hidden = index > 0 && system !== "" && one("bdi", head).textContent !== system;
      });
    }
    for (const mark of all(".chart [data-id]")) {
      const row = byId(mark.dataset.id);
      mark.classList.toggle("dim", Boolean(row && row.hidden));
    }
    matches.textContent = active ? `${shown.toLocaleString("en")} of ${total.toLocaleString("en")} cases match` : "";
  };
  const board = (body, words, wanted) => {
    const system = form.elements.y.value;
    let below = false;
    for (const row of body.rows) {
      let any = false;
      for (const cell of all("td", row)) {
        cell.hidden = system !== "" && cell.dataset.label !== system;
        const good = !cell.hidden && cell.dataset.t !== undefined && fits(cell.dataset, wanted);
        cell.classList.toggle("dim", !good && !cell.hidden && wanted.length > 0);
        any ||= good;
      }
      const kernel = fits({ k: row.dataset.k }, wanted.filter(([name]) => name === "k"));
      const said = words.every((word) => text(row).includes(word));
      row.hidden = !(kernel && said && (any || wanted.every(([name]) => name === "k")));
      below ||= row.classList.contains("more") && !row.hidden;
    }
    const open = below && (words.length > 0 || wanted.some(([name]) => "det".includes(name)));
    if (open || !active || "auto" in body.dataset) twist(body, open);
    if (open) body.dataset.auto = ""; else delete body.dataset.auto;
  };
  const changed = () => { filter(); put(read().id, false); };
  let waiting = 0;
  form.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(changed, 80); });
  form.addEventListener("submit", (event) => { event.preventDefault(); changed(); });
  byId("clear").addEventListener("click", () => { form.reset(); changed(); });
  byId("link").addEventListener("click", async () => {
    const done = await safely(() => navigator.clipboard.writeText(location.href).then(() => true, () => false), false);
    matches.textContent = done ? "The link is copied." : "Copy the address of this page: it carries the view.";
  });
  const restore = () => {
    const { id, query } = read();
    for (const name of fields) form.elements[name].value = query.get(name) ?? "";
    filter();
    if (id) reveal(id);
  };
  addEventListener("popstate", restore);

  // ---- the board's further rows
  const twist = (body, open) => {
    body.classList.toggle("open", open);
    one(".twist", body)?.setAttribute("aria-expanded", String(open));
  };
  for (const button of all(".twist")) {
    const body = button.closest("tbody");
    twist(body, false);
    button.addEventListener("click", () => twist(body, !body.classList.contains("open")));
  }

  // ---- charts: nearest point, arrows, Enter to the row, legend
  const titles = new WeakMap();
  for (const chart of all("svg.chart")) {
    const marks = all("[data-s]", chart).filter((mark) => one("title", mark));
    for (const mark of marks) {
      const title = one("title", mark);
      titles.set(mark, title ? title.textContent : "");
      title?.remove();
    }
    let at = -1, places = null;
    const find = () => (places ??= marks.map((mark) => {
      const box = mark.getBoundingClientRect();
      return [box.x + box.width / 2 + scrollX, box.y + box.height / 2 + scrollY];
    }));
    const go = (index, say) => {
      marks[at]?.classList.remove("at");
      at = index;
      tip.hidden = at < 0;
      if (at < 0) return;
      marks[at].classList.add("at");
      tip.textContent = titles.get(marks[at]);
      const [x, y] = find()[at], left = x - scrollX, top = y - scrollY;
      tip.style.left = `${Math.max(8, Math.min(left + 12, innerWidth - tip.offsetWidth - 8))}px`;
      tip.style.top = `${top > tip.offsetHeight + 16 ? top - tip.offsetHeight - 10 : top + 14}px`;
      if (say) live.textContent = `${at + 1} of ${marks.length}: ${tip.textContent}`;
    };
    const nearest = (event) => {
      let best = -1, least = 28 ** 2;
      find().forEach(([x, y], index) => {
        const far = (x - event.pageX) ** 2 + (y - event.pageY) ** 2;
        if (far < least && !marks[index].classList.contains("dim")) { least = far; best = index; }
      });
      return best;
    };
    const jump = () => {
      const id = marks[at]?.dataset.id;
      if (id) { go(-1); put(id, true); reveal(id); }
    };
    chart.addEventListener("pointerenter", () => { places = null; });
    chart.addEventListener("pointermove", (event) => go(nearest(event), false));
    chart.addEventListener("pointerleave", () => go(-1));
    chart.addEventListener("click", jump);
    chart.addEventListener("blur", () => go(-1));
    chart.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      const to = { Home: 0, End: marks.length - 1 }[event.key];
      if (!marks.length || event.ctrlKey || event.metaKey || event.altKey) return;
      if (step || to !== undefined) {
        event.preventDefault();
        places = null;
        const from = at < 0 && step < 0 ? 0 : at;
        go(to ?? (from + step + marks.length) % marks.length, true);
      } else if (event.key === "Enter") jump();
      else if (event.key === "Escape") go(-1);
    });
    for (const button of all(".legend button", chart.closest("figure"))) {
      button.addEventListener("click", () => {
        button.setAttribute("aria-pressed", String(button.getAttribute("aria-pressed") !== "true"));
        const kept = new Set(all('.legend [aria-pressed="true"]', chart.closest("figure")).map((b) => b.dataset.s));
        for (const mark of all("[data-s]", chart)) mark.classList.toggle("dim", kept.size > 0 && !kept.has(mark.dataset.s));
      });
    }
  }

  // ---- the data, unpacked only when asked for: columns (columns.py says how) back to text
  const literals = (text, count) => count ? text.split(",") : [];
  const column = ([kind, first, second, third], count) => {
    if (kind === "n") return literals(first, count);
    if (kind === "s") return first.map((text) => JSON.stringify(text));
    if (kind === "d") {
      const values = column(first);
      return literals(second, 1).map((at) => values[at]);
    }
    if (kind === "m") {
      const which = literals(first, 1), left = second.map(() => 0);
      for (const at of which) left[at] += 1;
      const parts = second.map((each, at) => column(each, left[at])), next = second.map(() => 0);
      return which.map((at) => parts[at][next[at]++]);
    }
    if (kind === "l") {
      const lengths = literals(first, 1).map(Number);
      const inside = column(second, lengths.reduce((sum, length) => sum + length, 0));
      let from = 0;
      return lengths.map((length) => `[${inside.slice(from, from += length).join(",")}]`);
    }
    const which = literals(second, 1), left = new Map(third.map(([key]) => [key, 0]));
    for (const at of which) for (const key of first[at]) left.set(key, left.get(key) + 1);
    const parts = new Map(third.map(([key, each]) => [key, column(each, left.get(key)).values()]));
    const names = new Map(third.map(([key]) => [key, JSON.stringify(key)]));
    return which.map((at) => `{${first[at].map((key) => `${names.get(key)}:${parts.get(key).next().value}`).join(",")}}`);
  };
  const restored = {
    json: (packed) => {
      const found = column(packed, 2);
      return `${found.length === 1 ? found[0] : `[${found.join(",\n")}]`}\n`;
    },
    csv: (packed) => {
      const cells = packed.map((each) => column(each).map((text) => JSON.parse(text)));
      return cells[0].map((_, row) => `${cells.map((each) => each[row]).join(",")}\n`).join("");
    },
  };
  for (const button of all("[data-save]")) {
    button.addEventListener("click", async () => {
      const kind = button.dataset.save;
      if (!("DecompressionStream" in self)) {
        matches.textContent = "This browser is too old to unpack the data; use trnbench export instead.";
        return;
      }
      const packed = Uint8Array.from(atob(byId(`data-${kind}`).textContent), (c) => c.charCodeAt(0));
      const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
      const data = restored[kind](await new Response(stream).json());
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([data], { type: kind === "json" ? "application/json" : "text/csv" }));
      link.download = `${document.title.replace(/[^\w.-]+/g, "-")}.${kind}`;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 60000);
    });
  }

  // ---- contents
  const narrow = matchMedia("(max-width: 62rem)");
  byId("side").open = !narrow.matches;
  narrow.addEventListener("change", () => { byId("side").open = !narrow.matches; });
  const links = new Map(all(".toc a").map((link) => [link.hash.slice(1), link]));
  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      for (const [id, link] of links) {
        if (id === entry.target.id) link.setAttribute("aria-current", "true"); else link.removeAttribute("aria-current");
      }
    }
  }, { rootMargin: "0px 0px -75% 0px" });
  all("main section").forEach((section) => seen.observe(section));
  restore();
})();
