// ---- where the reader is, what unfolds, what is saved
document.documentElement.classList.add("on");
// A box that scrolls is reached by the keyboard, and has a name.
let boxes = 0;
const reachable = (root) => {
  for (const box of all(".wide:not([tabindex])", root)) {
    const title = one("h2", box.closest("section") ?? document)?.textContent ?? "";
    box.tabIndex = 0;
    box.setAttribute("role", "region");
    box.setAttribute("aria-label", `${title}: table ${boxes += 1}`);
  }
};
const enliven = (root) => { reachable(root); startCharts(root); savePictures(root); sortTables(root); filterTables(root); unfold(root); };

// A section of the third depth is unpacked when it is asked for; it was escaped when the page was written.
const opened = new Map();
const openDeep = (section) => {
  if (!section?.dataset.deep) return Promise.resolve();
  if (!opened.has(section)) opened.set(section, (async () => {
    const template = document.createElement("template");
    template.innerHTML = await (await unpacked(section.dataset.deep)).text();
    for (const hint of all(".deep-hint, .open-deep", section)) hint.remove();
    const holder = make("div", { class: "deep" });
    holder.append(template.content);
    section.append(holder);
    enliven(holder);
    if (byId("all-cases") && holder.contains(byId("all-cases"))) await showCases();
  })().catch((error) => section.append(make("p", { class: "hint" }, error.message))));
  return opened.get(section);
};
for (const button of all(".open-deep")) {
  button.addEventListener("click", async () => {
    const section = button.closest("section");
    await openDeep(section);
    const title = one("h2, h3", section);
    title.tabIndex = -1;
    title.focus();
  });
}

const reveal = async (id, query) => {
  const deep = all("section[data-deep]").find((section) => section.id === id);
  if (deep) await openDeep(deep);
  const target = byId(id);
  if (!target) return;
  for (let up = target; up; up = up.parentElement) if (up.tagName === "DETAILS") up.open = true;
  if (id === "cases") await showCases(query);
  if (!target.hasAttribute("tabindex")) target.tabIndex = -1;
  target.focus({ preventScroll: true });
  target.scrollIntoView({ block: "start" });
};
const follow = () => {
  if (route()) return;
  const [id, query = ""] = location.hash.slice(1).split("?");
  const name = safely(() => decodeURIComponent(id), "");
  if (name && (query || all("section[data-deep]").some((section) => section.id === name) || !moved)) reveal(name, new URLSearchParams(query));
};
// Where the drawer was opened: back there nothing is sought, sorted or scrolled again, and the figure has the focus.
let under = null;
addEventListener("hashchange", ({ oldURL }) => {
  moved = true;
  if (!drawer.open && (asked().has("case") || asked().has("point"))) under = new URL(oldURL).hash;
  if (location.hash !== under) return follow();
  under = null;
  route();
});
// A link to the section that is open already changes no address.
document.addEventListener("click", (event) => {
  const link = event.target.closest?.('a[href^="#"]');
  if (link && link.hash === location.hash && link.hash.length > 1) follow();
});

for (const button of all("[data-save]")) {
  button.addEventListener("click", async () => {
    const said = byId("saved");
    try {
      const found = await runs(), texts = found.map((run) => run.part.text);
      save(`${document.title}.json`, "application/json", `${texts.length === 1 ? texts[0] : `[${texts.join(",\n")}]`}\n`);
    } catch (error) { if (said) said.textContent = error.message; }
  });
}
const current = new Map(all(".views a, .toc a").map((link) => [link.hash.slice(1), link]));
const seen = new IntersectionObserver((entries) => {
  for (const entry of entries.filter((each) => each.isIntersecting)) {
    for (const [id, link] of current) if (id === entry.target.id) link.setAttribute("aria-current", "true"); else link.removeAttribute("aria-current");
  }
}, { rootMargin: "0px 0px -75% 0px" });
all("main section[id]").forEach((section) => seen.observe(section));
enliven(document);
follow();
// Views of a site's page stand in files beside it: unpacked when the first screen is there.
const whenIdle = self.requestIdleCallback ?? ((action) => setTimeout(action, 50));
for (const view of all(".depth2[data-deep]")) whenIdle(() => openDeep(view));
