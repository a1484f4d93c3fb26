"use strict";

// Language: the reader's last choice, else the browser's; ?lang=zh or ?lang=en in the address goes first.
const root = document.documentElement;
const englishTitle = document.title;
const chineseTitle = document.querySelector("title").dataset.zh;

function stored(name) {
  try { return localStorage.getItem(name); } catch { return null; }
}

function store(name, text) {
  try { localStorage.setItem(name, text); } catch { /* a file opened from disk may not store */ }
}

function show(language) {
  root.lang = language;
  document.title = language === "en" ? englishTitle : chineseTitle;
}

const asked = new URLSearchParams(location.search).get("lang") || stored("adaptbert-language") || navigator.language || "en";
show(asked.toLowerCase().startsWith("zh") ? "zh-Hans" : "en");
document.getElementById("language").addEventListener("click", () => {
  show(root.lang === "en" ? "zh-Hans" : "en");
  store("adaptbert-language", root.lang);
});

// On paper nothing is folded: what was closed opens for the print and closes after it.
let opened = [];
addEventListener("beforeprint", () => {
  opened = [...document.querySelectorAll("details:not([open])")];
  for (const fold of opened) fold.open = true;
});
addEventListener("afterprint", () => {
  for (const fold of opened) fold.open = false;
});

// Sorting: numbers by data-value, cells without a value last in either direction.
function value(row, column) {
  const cell = row.cells[column];
  return cell.dataset.value === undefined ? cell.textContent.trim() : cell.dataset.value;
}

function compare(a, b) {
  const [x, y] = [Number(a), Number(b)];
  return Number.isNaN(x) || Number.isNaN(y) ? a.localeCompare(b) : x - y;
}

for (const button of document.querySelectorAll("button.sort")) {
  button.addEventListener("click", () => {
    const header = button.closest("th");
    const table = header.closest("table");
    const upward = header.getAttribute("aria-sort") !== "ascending";
    for (const other of table.querySelectorAll("th[aria-sort]")) other.removeAttribute("aria-sort");
    header.setAttribute("aria-sort", upward ? "ascending" : "descending");
    const rows = [...table.tBodies[0].rows];
    rows.sort((first, second) => {
      const [a, b] = [value(first, header.cellIndex), value(second, header.cellIndex)];
      if (a === "" || b === "") return (a === "") - (b === "");
      return upward ? compare(a, b) : compare(b, a);
    });
    table.tBodies[0].append(...rows);
  });
}
