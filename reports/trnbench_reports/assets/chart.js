// ---- charts: nearest point, arrows, Enter to the explanation, legend, saving
const tip = byId("tip"), live = byId("live");
const startCharts = (root) => all("svg.chart", root).forEach(startChart);
const startChart = (chart) => {
  const titles = new Map();
  const marks = all("[data-s]", chart).filter((mark) => one("title", mark));
  for (const mark of marks) {
    titles.set(mark, one("title", mark).textContent);
    one("title", mark).remove();
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
    const address = marks[at]?.dataset.id;
    if (!address) return;
    go(-1);
    location.hash = address;
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
  const figure = chart.closest("figure");
  for (const button of figure ? all(".legend button", figure) : []) {
    button.addEventListener("click", () => {
      button.setAttribute("aria-pressed", String(button.getAttribute("aria-pressed") !== "true"));
      const kept = new Set(all('.legend [aria-pressed="true"]', figure).map((each) => each.dataset.s));
      for (const mark of all("[data-s]", chart)) mark.classList.toggle("dim", kept.size > 0 && !kept.has(mark.dataset.s));
    });
  }
};

// A picture that stands alone: the page's colours and letters written into a copy, its shapes put in.
const PAINTS = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "opacity", "font-size", "font-family", "font-weight", "text-anchor", "paint-order"];
const standalone = (svg) => {
  const copy = svg.cloneNode(true), originals = [svg, ...all("*", svg)];
  const shapes = new Map();
  [copy, ...all("*", copy)].forEach((element, at) => {
    const style = getComputedStyle(originals[at]);
    for (const name of PAINTS) if (style.getPropertyValue(name)) element.setAttribute(name, style.getPropertyValue(name).replace(/url\("?#?[^)]*#?"?\)/, "gray"));
    for (const name of ["class", "tabindex", "data-id", "data-s"]) element.removeAttribute(name);
    const shape = element.localName === "use" ? element.getAttribute("href").slice(1) : "";
    if (shape && byId(shape)) shapes.set(shape, byId(shape).cloneNode(true));
  });
  const box = svg.viewBox.baseVal;
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.prepend(draw("defs", {}, [...shapes.values()]), draw("rect", { x: box.x, y: box.y, width: box.width, height: box.height, fill: getComputedStyle(document.body).backgroundColor }));
  return new XMLSerializer().serializeToString(copy);
};
const savePictures = (root) => {
  for (const figure of all("figure", root)) {
    const svg = one("svg.chart, svg.graph", figure);
    if (!svg) continue;
    const title = one("figcaption", figure)?.textContent.trim() ?? "chart";
    const keep = () => save(`trnbench-${figure.id || "chart"}.svg`, "image/svg+xml", standalone(svg));
    figure.append(make("p", { class: "keep" }, make("button", { type: "button", class: "save-svg", "aria-label": `Save as SVG: ${clip(title, 120)}`, onclick: keep }, "Save SVG")));
  }
};
