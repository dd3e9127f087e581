"use strict";
// Checks a policy while it is written, tells what another limit would mean, and refits messages.
(function () {
  const form = document.getElementById("policy");
  if (!form) return;
  const $ = (id) => document.getElementById(id);
  const rules = $("f-rules");
  const sliders = [...document.querySelectorAll("#sliders .limit")];
  let checking = 0, counting = null, waiting = 0;

  const fields = () => ({ method: "POST", body: new URLSearchParams(new FormData(form)) });

  // mark shows what is wrong at its place.
  const mark = (wrong) => {
    for (const place of form.querySelectorAll("[data-field]")) {
      const says = wrong[place.dataset.field] || [];
      for (const old of place.querySelectorAll(".wrong")) old.remove();
      const input = place.querySelector("input, textarea, select");
      if (says.length) input.setAttribute("aria-invalid", "true"); else input.removeAttribute("aria-invalid");
      for (const text of says) {
        const element = document.createElement("span");
        element.className = "wrong";
        element.textContent = text;
        place.append(element);
      }
    }
    const others = Object.entries(wrong).filter(([field]) => !form.querySelector('[data-field="' + field + '"]')).flatMap(([, says]) => says);
    return Object.keys(wrong).length ? others : null;
  };

  const check = async () => {
    const turn = ++checking;
    try {
      const answer = await sendlimit.ask("/policy/check", Object.assign(fields(), { headers: { Accept: "application/json" } }));
      if (turn !== checking) return;
      const others = mark(answer.wrong || {});
      if (others && others.length) verdict(others.join(" "), "no");
      else if (others) verdict("", "");
    } catch { /* the server says so when the form is applied */ }
  };

  const verdict = (text, kind) => {
    sendlimit.text($("misfits"), text);
    $("misfits").className = "verdict" + (kind ? " " + kind : "");
  };

  // follow reads the lines of a dry run of a policy or a refit, and tells how far it is.
  const follow = async (path, options, bar, tell) => {
    const users = new Set();
    const seen = { misfits: 0, moved: 0, cancelled: 0, kept: 0, gone: 0, users, summary: null };
    await sendlimit.lines(path, options, (line) => {
      switch (line.outcome) {
        case "progress":
          bar.max = line.partitions;
          bar.value = line.partitions_done;
          tell(seen, false);
          return;
        case "dry_run":
        case "refitted":
          seen.summary = line;
          return;
        case "error":
        case "refused":
          throw new Error(line.detail);
        default:
          seen.misfits++;
          if (line.outcome in seen) seen[line.outcome]++;
          users.add(line.user);
      }
    });
    tell(seen, true);
    return seen;
  };

  // count tells how many scheduled messages would not fit the policy of the form.
  const count = async () => {
    if (counting) counting.abort();
    const mine = counting = new AbortController();
    $("misfit-row").hidden = false;
    $("misfit-progress").removeAttribute("value");
    verdict("Counting …", "");
    try {
      await follow("/policy/dry-run", Object.assign(fields(), { signal: mine.signal, headers: { Accept: "application/json" } }), $("misfit-progress"), (seen, done) => {
        if (counting !== mine) return;
        const n = done && seen.summary ? seen.summary.misfits : seen.misfits;
        const users = done && seen.summary ? seen.summary.misfit_users : seen.users.size;
        const of = done && seen.summary ? " of " + sendlimit.plural(seen.summary.reservations, "scheduled message") : "";
        const before = done && seen.summary && seen.summary.baseline && seen.summary.baseline.misfits ? " (" + sendlimit.number(seen.summary.baseline.misfits) + " do not fit the stored policy already)" : "";
        verdict((done ? "" : "So far ") + sendlimit.plural(n, "message") + of + " of " + sendlimit.plural(users, "user") + " would no longer fit" + before + ".", n ? "no" : "yes");
      });
    } catch (failed) {
      if (counting === mine) {
        if (failed.body && failed.body.wrong) mark(failed.body.wrong);
        verdict(failed.message, "no");
        if (failed.status === 429) waiting = setTimeout(count, 700); // an earlier count is just ending
      }
    }
    if (counting === mine) {
      counting = null;
      $("misfit-row").hidden = true;
    }
  };

  const later = (what, wait) => { clearTimeout(waiting); waiting = setTimeout(what, wait); };

  for (const slider of sliders) {
    slider.addEventListener("input", () => {
      slider.parentElement.querySelector("output").textContent = slider.value;
      rules.value = rules.value.split("\n").map((line) => {
        const cut = line.indexOf("/");
        return cut >= 0 && line.slice(cut + 1).trim() === slider.dataset.window ? slider.value + "/" + slider.dataset.window : line;
      }).join("\n");
      check();
      later(count, 250);
    });
  }
  if (sliders.length) $("sliders").hidden = false;
  form.addEventListener("input", (event) => { if (!event.target.classList.contains("limit")) { clearTimeout(form.timer); form.timer = setTimeout(check, 400); } });
  $("count").hidden = false;
  $("count").addEventListener("click", count);

  const box = $("refit-box");
  if (!box) return;
  box.hidden = false;
  const name = box.dataset.name;
  const told = (text, kind) => {
    sendlimit.text($("refit-said"), text);
    $("refit-said").className = "verdict" + (kind ? " " + kind : "");
  };
  const enable = (on) => { for (const id of ["refit-shift", "refit-cancel"]) $(id).disabled = !on; };
  let found = null;
  const work = async (path, options, done) => {
    $("refit-row").hidden = false;
    $("refit-progress").removeAttribute("value");
    $("refit-count").disabled = true;
    enable(false);
    try {
      await follow(path, options, $("refit-progress"), done);
    } catch (failed) {
      told(failed.message, "no");
    }
    $("refit-row").hidden = true;
    $("refit-count").disabled = false;
  };
  const stored = new URLSearchParams(new FormData(form));
  $("refit-count").addEventListener("click", () => work("/policy/dry-run", { method: "POST", body: stored, headers: { Accept: "application/json" } }, (seen, done) => {
    const n = done && seen.summary ? seen.summary.misfits : seen.misfits;
    const users = done && seen.summary ? seen.summary.misfit_users : seen.users.size;
    told((done ? "" : "So far ") + sendlimit.plural(n, "scheduled message") + " of " + sendlimit.plural(users, "user") + " do not fit the stored policy.", n ? "no" : "yes");
    if (done) {
      found = n;
      enable(n > 0);
    }
  }));
  for (const [id, then, question, past] of [
    ["refit-shift", "shift", "Move {n} to their next free times?", "moved"], ["refit-cancel", "cancel", "Cancel {n}? They are not sent.", "cancelled"],
  ]) {
    $(id).addEventListener("click", () => {
      if (!confirm(question.replace("{n}", sendlimit.plural(found, "message")))) return;
      work("/policy/refit", sendlimit.form({ name, then }), (seen, done) => {
        const s = done && seen.summary ? seen.summary : seen;
        told((done ? "Done: " : "So far ") + sendlimit.number(s[past] || 0) + " " + past + ", " + sendlimit.number(s.kept || 0) + " kept, " + sendlimit.number(s.gone || 0) + " gone meanwhile.", done ? "yes" : "");
      });
    });
  }
})();
