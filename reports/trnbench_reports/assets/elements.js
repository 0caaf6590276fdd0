// ---- elements: a string becomes text, whatever it says
const make = (tag, attributes = {}, ...children) => filled(document.createElement(tag), attributes, children);
const draw = (tag, attributes = {}, ...children) => filled(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
const filled = (element, attributes, children) => {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== undefined && value !== null) element.setAttribute(name, String(value));
  }
  element.append(...children.flat(3).filter((child) => child !== null && child !== undefined && child !== "").map(printable));
  return element;
};
// Control and bidirectional characters move or hide their neighbours; the saved data keeps them.
const printable = (child) => typeof child === "string"
  ? child.replace(/[\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g, "")
    .replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, "\ufffd")
  : child;
const clip = (text, limit = 400) => { const told = String(text); return told.length > limit ? `${told.slice(0, limit - 1)}…` : told; };

const rowsOf = (pairs) => make("dl", { class: "pairs" }, pairs.filter(([, value]) => value !== "" && value !== null && value !== undefined)
  .map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value))));
// A table that scrolls in a box of its own, which the keyboard reaches.
const tableOf = (label, heads, rows) => make("div", { class: "wide", tabindex: 0, role: "region", "aria-label": `${label}: table` },
  make("table", { class: "data" },
    make("thead", {}, make("tr", {}, heads.map((head) => make("th", { scope: "col", class: head.endsWith("#") ? "n" : null }, head.replace("#", ""))))),
    make("tbody", {}, rows.map((cells) => make("tr", {}, cells.map((cell, at) => at === 0
      ? make("th", { scope: "row", class: heads[at].endsWith("#") ? "n" : "prose" }, cell) : make("td", { class: heads[at].endsWith("#") ? "n" : "prose" }, cell)))))));
const save = (name, type, text) => {
  const link = make("a", { download: name.replace(/[^\w.-]+/g, "-").slice(0, 120) });
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
};
const copyable = (command) => {
  const done = make("span", { class: "note", role: "status" });
  const copy = async () => {
    const copied = await safely(() => navigator.clipboard.writeText(command).then(() => true, () => false), false);
    done.textContent = copied ? "copied" : "select it and copy";
  };
  return make("div", { class: "command" }, make("pre", { tabindex: 0 }, command), make("button", { type: "button", onclick: copy }, "Copy"), " ", done);
};
