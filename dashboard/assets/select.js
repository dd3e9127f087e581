"use strict";
// Chooses all messages of a page at once.
(function () {
  const all = document.getElementById("all");
  if (!all) return;
  const boxes = [...document.querySelectorAll('input[name="chosen"]')];
  const chosen = document.getElementById("number-chosen");
  document.getElementById("all-row").hidden = false;
  const tell = () => {
    const n = boxes.filter((box) => box.checked).length;
    all.checked = n === boxes.length && n > 0;
    all.indeterminate = n > 0 && n < boxes.length;
    sendlimit.text(chosen, n ? n + " chosen" : "");
  };
  all.addEventListener("change", () => {
    for (const box of boxes) box.checked = all.checked;
    tell();
  });
  for (const box of boxes) box.addEventListener("change", tell);
  tell();
})();
