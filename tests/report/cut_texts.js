() => {
  const svg = document.querySelector('svg'), origin = svg.getBoundingClientRect();
  const wide = svg.viewBox.baseVal.width, high = svg.viewBox.baseVal.height;
  const boxes = [...svg.querySelectorAll('text')].filter((e) => e.textContent.trim()).map((e) => {
    const r = e.getBoundingClientRect();
    const x = r.left - origin.left, y = r.top - origin.top;
    return [e.textContent, x, y, x + r.width, y + r.height];
  });
  const leaves = ([, l, t, r, b]) => l < -1 || t < -1 || r > wide + 1 || b > high + 1;
  const bad = boxes.filter(leaves).map(([text]) => text);
  boxes.forEach(([one, l, t, r, b], at) => boxes.slice(at + 1).forEach(([other, l2, t2, r2, b2]) => {
    const across = Math.min(r, r2) - Math.max(l, l2), down = Math.min(b, b2) - Math.max(t, t2);
    if (across > 1 && down > 4) bad.push(one + ' | ' + other);
  }));
  return [boxes.length, bad];
}
