() => {
  const luminance = (text) => {
    const rgb = text.match(/[\d.]+/g).slice(0, 3).map((v) => {
      const c = v / 255;
      return c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * rgb[0] + 0.7152 * rgb[1] + 0.0722 * rgb[2];
  };
  const ground = (element) => {
    for (let up = element; up; up = up.parentElement) {
      const colour = getComputedStyle(up).backgroundColor;
      if (!/, 0\)$/.test(colour) && colour !== "transparent") return colour;
    }
    return "rgb(255, 255, 255)";
  };
  const low = [];
  for (const element of document.querySelectorAll("main *, aside *")) {
    const own = [...element.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    if (!own || !element.checkVisibility() || element.closest("svg")) continue;
    const a = luminance(getComputedStyle(element).color), b = luminance(ground(element));
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) low.push([element.className, element.textContent.slice(0, 40), ratio.toFixed(2)]);
  }
  for (const mark of document.querySelectorAll("svg.chart [data-id], svg.chart text")) {
    const style = getComputedStyle(mark);
    const paint = style.fill.startsWith("rgb") ? style.fill : style.color;
    const a = luminance(paint), b = luminance(ground(mark.closest("figure")));
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) low.push(["chart", paint, ratio.toFixed(2)]);
  }
  return low.slice(0, 8);
}
