// ---- the drawer: opened by the address, so that links, the back button and a mailed address all work
const drawer = byId("drawer");
const asked = () => new URLSearchParams(location.hash.slice(1));
// How many addresses deep the reader is in the drawer; 0 where it was opened with the page.
let depth = 0, told = 0;

const put = (title, about, children) => {
  byId("drawer-title").replaceChildren(printable(title));
  byId("drawer-about").replaceChildren(printable(about));
  byId("drawer-body").replaceChildren(...children);
};
// An address of another run, or written by hand, may name the axes in another order.
const inOrder = (id) => id.replace(/\[(.*)\]/s, (_, axes) => `[${axes.split(",").sort().join(",")}]`);
const placeOf = (run, id) => run.places.get(id) ?? [...run.places].find(([name]) => inOrder(name) === inOrder(id))?.[1];
const lookedUp = async (query) => {
  const found = await runs(), run = found[Number(query.get("run") ?? 0)] ?? found[0];
  if (query.has("point")) {
    const holder = found.find((each) => each.published.has(query.get("point")));
    return holder && explainedPoint(holder, holder.published.get(query.get("point")));
  }
  const place = run && placeOf(run, query.get("case") ?? "");
  return place === undefined ? null : explained(run, place, query.get("metric") ?? "", found);
};
const failure = (error) => [make("p", {}, error.message || String(error)),
  make("p", {}, "The same from the command:"), copyable("trnbench runs show --help")];

const openDrawer = async (query) => {
  const mine = told += 1, fresh = !drawer.open;
  if (fresh) {
    put("…", "", []);
    drawer.showModal();
  }
  const found = await lookedUp(query).catch((error) => ({ title: "This could not be unpacked", about: "", blocks: failure(error) }));
  if (mine !== told || !drawer.open) return;
  if (found) put(found.title, found.about, found.blocks);
  else put("Not in this page", query.get("case") ?? query.get("point"), [make("p", {}, "The page holds no such case. It may have been left out by a selection or a sample; the run itself has all of them.")]);
  const block = found?.to && byId(`why-${found.to}-h`);
  byId("drawer-body").scrollTop = 0;
  (block || byId("drawer-title")).focus();
  block?.scrollIntoView({ block: "start" });
};
const route = () => {
  const query = asked();
  if (query.has("case") || query.has("point")) {
    depth = history.state?.drawer ?? (moved ? (drawer.open ? depth : 0) + 1 : 0);
    safely(() => history.replaceState({ drawer: depth }, ""), null);
    openDrawer(query);
    return true;
  }
  told += 1;
  if (drawer.open) {
    leaving = true;
    drawer.close();
  }
  return false;
};
let moved = false, leaving = false;
drawer.addEventListener("close", () => {
  const own = leaving;
  leaving = false;
  put("", "", []);
  if (own || !(asked().has("case") || asked().has("point"))) return;
  if (depth > 0) history.go(-depth);
  else safely(() => history.replaceState(null, "", "#"), null);
});
drawer.addEventListener("click", (event) => { if (event.target === drawer) drawer.close(); });
byId("drawer-close").addEventListener("click", () => drawer.close());
byId("drawer-link").addEventListener("click", async () => {
  const done = await safely(() => navigator.clipboard.writeText(location.href).then(() => true, () => false), false);
  byId("drawer-link").textContent = done ? "Copied" : "Copy the address";
});
