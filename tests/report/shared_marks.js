(figure) => Object.entries([...figure.querySelectorAll('use[data-s]')].reduce((found, mark) => {
  const kind = mark.getAttribute('href') + getComputedStyle(mark).fill;
  (found[kind] ??= new Set()).add(mark.dataset.s);
  return found;
}, {})).filter(([, series]) => series.size > 1).map(([kind, series]) => [kind, [...series]])
