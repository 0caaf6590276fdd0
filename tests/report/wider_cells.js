() => [...document.querySelectorAll('main td, main th')]
  .filter((cell) => cell.checkVisibility() && cell.scrollWidth > cell.clientWidth + 1)
  .map((cell) => [cell.closest('section').id, cell.textContent.slice(0, 60)])
