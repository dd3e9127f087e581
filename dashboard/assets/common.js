"use strict";
// What the scripts of several pages use.
var sendlimit = {
  base: document.documentElement.dataset.base, // path below which the dashboard is

  // text sets the text of an element, if that changes it: a reader of the screen hears changes only.
  text(element, value) {
    if (element && element.textContent !== value) element.textContent = value;
  },

  number(n) { return Math.round(n).toLocaleString("en-US"); },

  plural(n, noun) { return sendlimit.number(n) + " " + noun + (n === 1 ? "" : "s"); },

  // time returns a time, Unix ms, as clocks of a zone show it.
  time(ms, zone) {
    const parts = new Intl.DateTimeFormat("en-CA", {
      timeZone: zone || "UTC", year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit", second: "2-digit",
      hourCycle: "h23", timeZoneName: "short",
    }).formatToParts(new Date(ms));
    const part = (type) => (parts.find((p) => p.type === type) || {}).value || "";
    const rest = ms % 1000 ? "." + String(ms % 1000).padStart(3, "0") : "";
    return part("year") + "-" + part("month") + "-" + part("day") + " " + part("hour") + ":" + part("minute") + ":" + part("second") + rest + " " + part("timeZoneName");
  },

  // ask sends a request of the page, and returns its answer. A refusal is an error with the
  // sentence for a person.
  async ask(path, options) {
    const answer = await fetch(sendlimit.base + path, Object.assign({ credentials: "same-origin", headers: { Accept: "application/json" } }, options));
    let body = null;
    try { body = await answer.json(); } catch { body = null; }
    if (!answer.ok) {
      const failed = new Error((body && body.detail) || "The server answered with the status " + answer.status + ". Try again.");
      failed.body = body;
      throw failed;
    }
    return body;
  },

  // form returns fields as the body of a form.
  form(fields) {
    const body = new URLSearchParams();
    for (const [name, value] of Object.entries(fields)) body.append(name, value);
    return { method: "POST", body };
  },

  // lines sends a request, calls each with every line of its answer as it comes, and returns the
  // answer's headers.
  async lines(path, options, each) {
    const answer = await fetch(sendlimit.base + path, Object.assign({ credentials: "same-origin" }, options, { headers: Object.assign({ Accept: "application/x-ndjson, application/json" }, (options || {}).headers) }));
    if (!answer.ok) {
      let body = null;
      try { body = await answer.json(); } catch { body = null; }
      const failed = new Error((body && body.detail) || "The server answered with the status " + answer.status + ". Try again.");
      failed.body = body;
      failed.status = answer.status;
      throw failed;
    }
    const reader = answer.body.getReader();
    const decoder = new TextDecoder();
    let rest = "";
    for (;;) {
      const { done, value } = await reader.read();
      rest += done ? decoder.decode() : decoder.decode(value, { stream: true });
      const parts = rest.split("\n");
      rest = done ? "" : parts.pop();
      for (const line of parts) {
        if (line.trim() !== "") each(JSON.parse(line));
      }
      if (done) return answer.headers;
    }
  },

  // cell returns a cell of a table with a text.
  cell(text, tag) {
    const cell = document.createElement(tag || "td");
    cell.textContent = text;
    if (tag === "th") cell.scope = "row";
    return cell;
  },

  // heat fills a heat map of counts by the start of an hour, Unix ms.
  heat(table, counts) {
    table.textContent = "";
    const hour = 3600000, day = 24 * hour;
    const hours = [...counts.keys()].sort((a, b) => a - b);
    const most = Math.max(0, ...counts.values());
    const head = table.createTHead().insertRow();
    head.append(Object.assign(sendlimit.cell("Day", "th"), { scope: "col" }));
    for (let h = 0; h < 24; h++) head.append(Object.assign(sendlimit.cell(String(h).padStart(2, "0"), "th"), { scope: "col" }));
    const body = table.createTBody();
    if (!hours.length) return;
    const first = Math.floor(hours[0] / day) * day, last = hours[hours.length - 1];
    for (let at = first, rows = 0; at <= last && rows < 400; at += day) {
      let any = false;
      for (let h = 0; h < 24; h++) any = any || counts.has(at + h * hour);
      if (!any) continue;
      const row = body.insertRow();
      rows++;
      row.append(sendlimit.cell(new Date(at).toISOString().slice(0, 10), "th"));
      for (let h = 0; h < 24; h++) {
        const n = counts.get(at + h * hour) || 0;
        const cell = sendlimit.cell(n ? String(n) : "");
        cell.className = "h" + (n ? 1 + Math.floor((n - 1) * 8 / most) : 0);
        row.append(cell);
      }
    }
  },
};

// The menu of small screens, the key of the search, and times in the zone of who looks.
(function () {
  document.documentElement.classList.add("scripted");
  const menu = document.getElementById("menu"), side = document.getElementById("side");
  if (menu) {
    menu.hidden = false;
    menu.addEventListener("click", () => menu.setAttribute("aria-expanded", String(side.classList.toggle("open"))));
  }

  const search = document.getElementById("q");
  document.addEventListener("keydown", (event) => {
    if (!search || event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select")) return;
    event.preventDefault();
    search.focus();
    search.select();
  });

  const own = Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";
  const stored = localStorage.getItem("sendlimit.zone");
  const known = ["UTC", own].concat(Intl.supportedValuesOf("timeZone"));
  sendlimit.zone = known.includes(stored) ? stored : own;
  sendlimit.times = (root) => {
    for (const time of root.querySelectorAll("time[datetime]")) {
      const at = Date.parse(time.dateTime);
      time.textContent = sendlimit.time(at, sendlimit.zone);
      time.title = new Date(at).toISOString();
    }
  };
  const zones = document.getElementById("zones");
  zones.textContent = "";
  const choice = Object.assign(document.createElement("select"), { id: "zone-of-times" });
  for (const zone of new Set(known)) choice.append(new Option(zone === own && zone !== "UTC" ? zone + " (yours)" : zone, zone));
  choice.value = sendlimit.zone;
  choice.addEventListener("change", () => {
    sendlimit.zone = choice.value;
    localStorage.setItem("sendlimit.zone", choice.value);
    sendlimit.times(document);
    document.dispatchEvent(new Event("zone"));
  });
  zones.append(Object.assign(document.createElement("label"), { htmlFor: choice.id, textContent: "Times in " }), choice);
  sendlimit.times(document);
})();

// Parts of a page with data-tab are shown one at a time; without scripts all of them are there.
(function () {
  const parts = [...document.querySelectorAll("[data-tab]")];
  if (parts.length < 2) return;
  const list = Object.assign(document.createElement("div"), { className: "tabs" });
  list.setAttribute("role", "tablist");
  const tabs = parts.map((part) => {
    const tab = Object.assign(document.createElement("button"), { type: "button", textContent: part.dataset.tab, id: part.id + "-name" });
    tab.setAttribute("role", "tab");
    tab.setAttribute("aria-controls", part.id);
    part.setAttribute("role", "tabpanel");
    part.setAttribute("aria-labelledby", tab.id);
    list.append(tab);
    return tab;
  });
  const choose = (chosen) => parts.forEach((part, i) => {
    part.hidden = i !== chosen;
    tabs[i].setAttribute("aria-selected", String(i === chosen));
    tabs[i].tabIndex = i === chosen ? 0 : -1;
  });
  const go = (i) => {
    choose(i);
    tabs[i].focus();
    history.replaceState(null, "", "#" + parts[i].id);
  };
  list.addEventListener("click", (event) => { if (tabs.includes(event.target)) go(tabs.indexOf(event.target)); });
  list.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step) return;
    event.preventDefault();
    go((tabs.indexOf(document.activeElement) + step + tabs.length) % tabs.length);
  });
  const follow = () => {
    const at = document.getElementById(location.hash.slice(1));
    const named = parts.findIndex((part) => part.contains(at));
    const wrong = parts.findIndex((part) => part.querySelector("[aria-invalid=true]"));
    choose(Math.max(0, named, wrong));
  };
  parts[0].before(list);
  addEventListener("hashchange", follow);
  follow();
})();
