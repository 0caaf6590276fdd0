// ---- tables of a site's static pages
document.documentElement.classList.add("on");
sortTables(document);
