() => {
  const VARIES = / (href|title|data-id|aria-label|aria-labelledby|x|y|x1|x2|y1|y2|d|transform)="[^"]*"/g;
  const seen = new Map();
  const kind = (of) => of ? kind(of.parentElement) + of.cloneNode().outerHTML.replace(VARIES, '') : '';
  for (const text of document.querySelectorAll('main *')) {
    if (text.childElementCount || !text.textContent.trim() || !text.checkVisibility()) continue;
    const so_far = seen.get(kind(text)) ?? 0;
    seen.set(kind(text), so_far + 1);
    if (so_far > 1) text.textContent = '';
  }
  return seen.size;
}
