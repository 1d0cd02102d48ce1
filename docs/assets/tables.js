// Tables with eight rows or more are sorted by a click on a heading; those with ten or more have a filter.
(function () {
  "use strict";

  const SORTABLE = 8;
  const FILTERED = 10;

  function cellText(row, column) {
    return (row.cells[column] ? row.cells[column].textContent : "").trim();
  }

  // The last number of "U / S / H" and the first of "91.2 ± 0.3"; null where a cell has no number.
  function numberOf(text) {
    const parts = text.replace(/\u2212/g, "-").replace(/,/g, "").split(" / ");
    const found = parts[parts.length - 1].match(/^[+-]?\d+(\.\d+)?/);
    return found ? parseFloat(found[0]) : null;
  }

  function compare(first, second, direction) {
    const numbers = [numberOf(first), numberOf(second)];
    if (numbers[0] !== null && numbers[1] !== null) return direction * (numbers[0] - numbers[1]);
    if (numbers[0] !== null || numbers[1] !== null) return numbers[0] === null ? 1 : -1;
    return direction * first.localeCompare(second);
  }

  function sortBy(table, heading, column) {
    const numeric = numberOf(cellText(table.tBodies[0].rows[0], column)) !== null;
    const before = heading.getAttribute("aria-sort");
    const ascending = before ? before === "descending" : !numeric;
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", ascending ? "ascending" : "descending");
    const rows = Array.from(table.tBodies[0].rows);
    rows.sort((a, b) => compare(cellText(a, column), cellText(b, column), ascending ? 1 : -1));
    for (const row of rows) table.tBodies[0].appendChild(row);
  }

  function makeSortable(table) {
    Array.from(table.tHead.rows[0].cells).forEach(function (heading, column) {
      if (!heading.textContent.trim()) return;
      heading.classList.add("sortable");
      heading.tabIndex = 0;
      heading.addEventListener("click", () => sortBy(table, heading, column));
      heading.addEventListener("keydown", function (event) {
        if (event.key === "Enter") sortBy(table, heading, column);
      });
    });
  }

  function makeFiltered(table) {
    const field = document.createElement("input");
    field.className = "table-filter";
    field.type = "search";
    field.placeholder = "Filter rows";
    field.setAttribute("aria-label", "Filter the rows of the table below");
    field.addEventListener("input", function () {
      const words = field.value.toLowerCase().split(/\s+/);
      for (const row of table.tBodies[0].rows) {
        const text = row.textContent.toLowerCase();
        row.hidden = !words.every((word) => text.includes(word));
      }
    });
    table.before(field);
  }

  for (const table of document.querySelectorAll("article table:not([class]):not(.doc-contents table)")) {
    if (!table.tHead || !table.tBodies.length) continue;
    const rows = table.tBodies[0].rows.length;
    if (rows >= SORTABLE) makeSortable(table);
    if (rows >= FILTERED) makeFiltered(table);
  }
})();
