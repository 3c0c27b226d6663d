const find = document.getElementById("find");
if (find) {
  find.hidden = false;
  const groups = [...document.querySelectorAll(".groups .group, .dense tbody, .grid tbody")].map((group) => ({
    group,
    rows: [...group.querySelectorAll(".row, tr.q")].map((row) => ({ row, text: row.textContent.toLowerCase() })),
  }));
  find.addEventListener("input", () => {
    const wanted = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const { group, rows } of groups) {
      let left = 0;
      for (const { row, text } of rows) {
        const matches = wanted.every((word) => text.includes(word));
        row.classList.toggle("nomatch", !matches);
        left += matches;
      }
      group.classList.toggle("nomatch", rows.length > 0 && left === 0);
    }
  });
}

const reveal = () => {
  const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target) return;
  for (let each = target.parentElement; each; each = each.parentElement) if (each.tagName === "DETAILS") each.open = true;
  target.scrollIntoView();
};
addEventListener("hashchange", reveal);
reveal();
addEventListener("keydown", (event) => {
  const step = { j: 1, k: -1 }[event.key];
  if (!step || event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input")) return;
  const lines = [...document.querySelectorAll(".findings > details > summary")].filter((line) => line.getClientRects().length);
  const at = lines.indexOf(document.activeElement);
  lines[at < 0 ? 0 : Math.max(0, Math.min(lines.length - 1, at + step))]?.focus();
});
