"use strict";
// Judges a campaign's file, under the stored rules or others, and submits what was judged.
(function () {
  const $ = (id) => document.getElementById(id);
  const file = $("file"), drop = $("drop"), results = $("results"), progress = $("progress");
  const most = Number(results.dataset.most), together = Number(results.dataset.together);
  const sliders = [...document.querySelectorAll(".limit")];
  let chosen = null; // the file
  let messages = []; // {line, draft}
  let wrong = []; // {line, wrong}
  let trimmed = 0; // values that had white space at their ends
  let outcomes = [];
  let digest = ""; // of what was judged under the stored limits; "" for nothing that can be submitted
  let running = null; // the AbortController of what runs

  const say = (text) => { $("say").hidden = !text; sendlimit.text($("say"), text); };
  const fail = (text) => { $("bad").hidden = !text; sendlimit.text($("bad"), text); };
  const busy = (label, total) => {
    $("progress-row").hidden = !label;
    $("progress-label").textContent = label || "";
    progress.max = total || 1;
    progress.removeAttribute("value");
    $("progress-text").textContent = "";
    const submit = $("submit");
    if (submit) submit.disabled = Boolean(label) || !messages.length || !digest;
    $("tried").hidden = Boolean(label) || !changed().length;
  };
  const advance = (n, total) => {
    progress.value = n;
    $("progress-text").textContent = sendlimit.number(n) + " of " + sendlimit.number(total);
  };

  // begin stops what runs, and returns the signal of what comes instead.
  const begin = () => {
    if (running) running.abort();
    running = new AbortController();
    fail("");
    return running.signal;
  };
  const ended = (signal) => {
    if (running && running.signal === signal) {
      running = null;
      busy("");
      return true;
    }
    return false;
  };

  const read = async () => {
    const signal = begin();
    say("");
    messages = [];
    wrong = [];
    trimmed = 0;
    outcomes = [];
    digest = "";
    busy("Reading", 1);
    try {
      await sendlimit.lines("/plan/read?" + new URLSearchParams({ campaign: $("campaign").value, zone: $("zone").value.trim(), other_columns: $("others").value }), { method: "POST", body: chosen, signal }, (line) => {
        if (line.trimmed) trimmed = line.trimmed;
        else if (line.draft) messages.push(line);
        else wrong.push(line);
      });
    } catch (failed) {
      if (ended(signal)) fail(failed.message);
      return;
    }
    if (!ended(signal)) return;
    if (!messages.length && !wrong.length) {
      fail("The file has no messages.");
      return;
    }
    if (messages.length > most) {
      fail("The file has " + sendlimit.plural(messages.length, "message") + ", and a plan has at most " + sendlimit.number(most) + ": use sendlimit bulk for it.");
      return;
    }
    if (messages.length > together) {
      const order = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
      messages.sort((a, b) => order(a.draft.user, b.draft.user) || a.line - b.line);
    }
    results.hidden = false;
    await judge();
  };

  const body = (list) => list.map((m) => JSON.stringify(m.draft)).join("\n") + "\n";

  // changed returns the rules whose sliders were moved.
  const changed = () => sliders.filter((s) => s.value !== s.dataset.limit).map((s) => s.value + "/" + s.dataset.window);

  const judge = async () => {
    if (!messages.length) { show(); return; }
    const signal = begin();
    outcomes = [];
    digest = "";
    busy("Judging", messages.length);
    const rules = changed();
    const asked = { campaign: $("campaign").value };
    if (rules.length) asked.what_if = rules.join(",");
    let headers = null;
    try {
      headers = await sendlimit.lines("/plan/judge?" + new URLSearchParams(asked),
        { method: "POST", body: body(messages), headers: { "Content-Type": "application/x-ndjson" }, signal },
        (outcome) => {
          if (outcome.outcome === "error") throw new Error(outcome.detail);
          outcomes.push(outcome);
          if (outcomes.length % 100 === 0) { advance(outcomes.length, messages.length); show(); }
        });
    } catch (failed) {
      if (ended(signal)) fail(failed.message);
      show();
      return;
    }
    if (running && running.signal === signal && outcomes.length === messages.length) digest = headers.get("Plan-Digest") || "";
    if (!ended(signal)) return;
    const n = show();
    const zone = $("zone").value.trim();
    say((rules.length ? "With " + rules.join(", ") + ": " : "") + sendlimit.number(n.accepted) + " would be accepted, " +
      (n.replayed ? sendlimit.number(n.replayed) + " were submitted before, " : "") + sendlimit.number(n.refused + n.invalid) + " would not." +
      (zone ? " Times without a zone are in " + zone + "." : "") +
      (trimmed ? " White space was removed at the ends of " + sendlimit.number(trimmed) + (trimmed === 1 ? " value." : " values.") : ""));
  };

  const reasonOf = (o) => {
    if (o.code === "send_limit" && o.violations && o.violations.length) {
      const v = o.violations[0];
      return (v.category ? v.category + " " : "") + v.rule;
    }
    return o.code || o.outcome;
  };

  const show = () => {
    const counts = new Map(), reasons = new Map();
    const n = { accepted: 0, shifted: 0, replayed: 0, refused: 0, invalid: wrong.length };
    const rows = [];
    for (const w of wrong) rows.push([w.line, "", "", "", w.wrong]);
    outcomes.forEach((o, i) => {
      const draft = messages[i] ? messages[i].draft : {};
      const line = messages[i] ? messages[i].line : o.line;
      if (o.outcome === "accepted" && o.replayed) {
        n.replayed++;
        return;
      }
      if (o.outcome === "accepted") {
        n.accepted++;
        const hour = Math.floor(Date.parse(o.send_at) / 3600000) * 3600000;
        counts.set(hour, (counts.get(hour) || 0) + 1);
        if (o.shifted) {
          n.shifted++;
          rows.push([line, draft.user, draft.id, o.send_at, "Shifted from " + o.requested_at + ", which is not free."]);
        }
        return;
      }
      if (o.outcome === "invalid") n.invalid++; else n.refused++;
      const reason = reasonOf(o);
      reasons.set(reason, (reasons.get(reason) || 0) + 1);
      rows.push([line, draft.user, draft.id, draft.send_at.local || draft.send_at, o.detail + (o.next_free_at && !o.detail.includes("next free time") ? " The next free time is " + o.next_free_at + "." : "")]);
    });
    $("n-all").textContent = sendlimit.number(messages.length + wrong.length);
    n.left = messages.length - outcomes.length;
    for (const [name, count] of Object.entries(n)) $("n-" + name).textContent = sendlimit.number(count);
    $("left").hidden = !n.left;
    sendlimit.heat($("heat-table"), counts);
    const why = $("why-rows");
    why.textContent = "";
    for (const [reason, n] of [...reasons].sort((a, b) => b[1] - a[1])) {
      const row = why.insertRow();
      row.append(sendlimit.cell(reason, "th"), sendlimit.cell(sendlimit.number(n)));
    }
    const list = $("rows");
    list.textContent = "";
    for (const row of rows.slice(0, 200)) {
      const at = list.insertRow();
      for (const text of row) at.append(sendlimit.cell(String(text === undefined ? "" : text)));
    }
    $("rows-more").hidden = rows.length <= 200;
    $("rows-more").textContent = "These are the first 200 of " + sendlimit.number(rows.length) + ". Download all of them.";
    return n;
  };

  const submit = async () => {
    if (!digest) return;
    const judged = digest;
    if (!confirm("Submit " + sendlimit.plural(messages.length, "message") + "? Accepted messages are sent at their times.")) return;
    const signal = begin();
    outcomes = [];
    busy("Submitting", messages.length);
    try {
      await sendlimit.lines("/plan/submit?" + new URLSearchParams({ campaign: $("campaign").value, digest: judged }), { method: "POST", body: body(messages), headers: { "Content-Type": "application/x-ndjson" }, signal }, (outcome) => {
        if (outcome.outcome === "error") throw new Error(outcome.detail + " Messages without an answer can be submitted again: their ids stay the same.");
        outcomes.push(outcome);
        if (outcomes.length % 100 === 0) { advance(outcomes.length, messages.length); show(); }
      });
    } catch (failed) {
      const mine = ended(signal);
      if (mine && failed.status === 409) await judge();
      if (mine) fail(failed.message);
      show();
      return;
    }
    if (!ended(signal)) return;
    const n = show();
    say("Submitted: " + sendlimit.number(n.accepted) + " accepted, " + (n.replayed ? sendlimit.number(n.replayed) + " submitted before, " : "") + sendlimit.number(n.refused + n.invalid) + " not.");
  };

  const download = () => {
    const cell = (value) => {
      let text = value === undefined || value === null ? "" : String(value);
      if (/^[=+\-@\t\r]/.test(text)) text = "'" + text;
      return /[",\n\r]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
    };
    const lines = [["line", "user", "id", "outcome", "code", "send_at", "requested_at", "next_free_at", "detail"].join(",")];
    for (const w of wrong) lines.push([w.line, "", "", "invalid", "", "", "", "", w.wrong].map(cell).join(","));
    outcomes.forEach((o, i) => {
      const m = messages[i] || { draft: {} };
      lines.push([m.line, m.draft.user, m.draft.id, o.outcome, o.code, o.send_at || m.draft.send_at, o.requested_at, o.next_free_at, o.detail].map(cell).join(","));
    });
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([lines.join("\n") + "\n"], { type: "text/csv" }));
    link.download = "outcome.csv";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  };

  let waiting = 0;
  // soon does something when nothing more is typed or moved. What was judged before can't be
  // submitted any more.
  const soon = (what) => {
    if (running) running.abort();
    running = null;
    digest = "";
    busy("");
    clearTimeout(waiting);
    waiting = setTimeout(what, 300);
  };
  const choose = (one) => {
    clearTimeout(waiting);
    chosen = one;
    read();
  };

  $("form").addEventListener("submit", (event) => event.preventDefault());
  for (const id of ["campaign", "zone", "others"]) $(id).addEventListener("input", () => { if (chosen) soon(read); });
  file.addEventListener("change", () => { if (file.files.length) choose(file.files[0]); });
  for (const name of ["dragenter", "dragover"]) drop.addEventListener(name, (event) => { event.preventDefault(); drop.classList.add("over"); });
  for (const name of ["dragleave", "drop"]) drop.addEventListener(name, () => drop.classList.remove("over"));
  drop.addEventListener("drop", (event) => {
    event.preventDefault();
    if (event.dataTransfer.files.length) choose(event.dataTransfer.files[0]);
  });
  $("stop").addEventListener("click", () => {
    if (running) running.abort();
    running = null;
    busy("");
    say("Stopped after " + sendlimit.plural(outcomes.length, "message") + ".");
  });
  for (const slider of sliders) {
    slider.addEventListener("input", () => {
      slider.parentElement.querySelector("output").textContent = slider.value;
      soon(judge);
    });
  }
  if ($("reset")) {
    $("reset").addEventListener("click", () => {
      for (const slider of sliders) {
        slider.value = slider.dataset.limit;
        slider.parentElement.querySelector("output").textContent = slider.value;
      }
      soon(judge);
    });
  }
  if ($("submit")) $("submit").addEventListener("click", submit);
  $("download").addEventListener("click", download);
})();
