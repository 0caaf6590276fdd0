// ---- tables of static pages: of a site, of histories
document.documentElement.classList.add("on");
sortTables(document);
filterTables(document);
