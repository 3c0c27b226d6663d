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
