() => [...document.querySelectorAll('#rooflines .figure, #links .figure')].map((figure) =>
  [...figure.querySelectorAll('.legend [data-s]')].map((entry) =>
    entry.querySelector('span').textContent + getComputedStyle(entry.querySelector('span')).color))
