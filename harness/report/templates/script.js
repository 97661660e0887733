"use strict";
(function () {
  var root = document.documentElement;
  var theme = document.getElementById("theme");
  var dark = window.matchMedia("(prefers-color-scheme: dark)");
  function isDark() { return root.dataset.theme ? root.dataset.theme === "dark" : dark.matches; }
  function showTheme() { theme.setAttribute("aria-pressed", String(isDark())); }
  theme.addEventListener("click", function () { root.dataset.theme = isDark() ? "light" : "dark"; showTheme(); });
  dark.addEventListener("change", showTheme);
  showTheme();

  document.querySelectorAll("button.copy").forEach(function (button) {
    button.addEventListener("click", function () {
      function done() { button.textContent = "Copied"; }
      function select() {
        // A page from a file may have no clipboard: then the text is selected, for Ctrl+C.
        var range = document.createRange();
        range.selectNodeContents(button.parentNode.querySelector("code"));
        var selection = window.getSelection();
        selection.removeAllRanges();
        selection.addRange(range);
        button.textContent = "Selected";
      }
      if (navigator.clipboard) { navigator.clipboard.writeText(button.dataset.copy).then(done, select); } else { select(); }
    });
  });

  var filters = ["bug", "target", "word"].map(function (name) { return document.getElementById("f-" + name); });
  function chosen(filter) { return filter ? filter.value : ""; }
  if (!filters[2]) { return; }
  function has(element, word) { return !word || (element.dataset.words || "").split(" ").indexOf(word) >= 0; }
  function apply() {
    var bug = chosen(filters[0]), target = chosen(filters[1]), word = chosen(filters[2]), shown = 0;
    var sections = document.querySelectorAll(".section");
    sections.forEach(function (section) {
      var fits = (!bug || section.dataset.bug === bug) && (!target || section.dataset.target === target) && has(section, word);
      section.hidden = !fits;
      shown += fits ? 1 : 0;
      var line = document.querySelector('[data-section="' + section.id + '"]');
      if (line) { line.hidden = !fits; }
      section.querySelectorAll("[data-words]").forEach(function (part) { part.hidden = !has(part, word); });
      section.querySelectorAll("td[data-word]").forEach(function (cell) { cell.classList.toggle("dim", Boolean(word) && cell.dataset.word !== word); });
    });
    document.getElementById("shown").textContent = bug || target || word ? shown + " of " + sections.length + " shown" : "";
    document.getElementById("nothing").hidden = shown > 0;
  }
  filters.filter(Boolean).forEach(function (filter) { filter.addEventListener("change", apply); });
  // A browser may keep what was chosen before the page was loaded again.
  apply();
})();
