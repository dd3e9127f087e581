"use strict";
// Keeps the overview up to date by server-sent events.
(function () {
  const data = document.getElementById("live-data");
  if (!data) return;
  const pause = document.getElementById("pause");
  const status = document.getElementById("state");
  let paused = false, source = null, latest = JSON.parse(data.textContent);
  const stopped = latest.stopped;
  const past = JSON.parse(document.getElementById("past-data").textContent);

  const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const names = [["accepted", "Accepted", "--plot1"], ["refused", "Refused", "--plot2"], ["delivered", "Delivered", "--plot3"], ["late", "Late", "--plot4"], ["dropped", "Dropped", "--plot5"], ["failed", "Failed", "--plot6"]];
  const utc = (s) => uPlot.tzDate(new Date(s * 1e3), "UTC");
  const clock = (s) => s === null || s === undefined ? "–" : new Date(s * 1000).toISOString().slice(11, 16);
  const day = (s) => s === null || s === undefined ? "–" : new Date(s * 1000).toISOString().slice(5, 10);
  const axes = () => [
    { values: (u, times) => times.map(clock), stroke: color("--text"), grid: { stroke: color("--line"), width: 1 }, ticks: { stroke: color("--line") } },
    { stroke: color("--text"), grid: { stroke: color("--line"), width: 1 }, ticks: { stroke: color("--line") }, size: 60 },
  ];
  // Accepted and delivered are bars side by side; the others, which are few, are lines.
  const counts = () => names.map(([key, label, c], i) => key === "accepted" || key === "delivered" ?
    { label, stroke: color(c), fill: color(c), width: 0, points: { show: false }, paths: uPlot.paths.bars({ size: [0.4, 30], align: i ? 1 : -1 }) } :
    { label, stroke: color(c), width: 2, dash: i > 2 ? [6, 3] : undefined, points: { show: false } });
  const size = (element, height) => ({ width: Math.max(200, element.clientWidth), height });
  const plots = [];

  const draw = () => {
    for (const p of plots) p.plot.destroy();
    plots.length = 0;
    const hourly = document.getElementById("plot-past");
    plots.push({
      element: hourly, height: 220,
      plot: new uPlot(Object.assign(size(hourly, 220), {
        tzDate: utc, axes: axes(), scales: { y: { range: (u, min, max) => [0, Math.max(max, 1)] } },
        series: [{ label: "Minute (UTC)", value: (u, s) => clock(s) }].concat(counts()),
      }), pastData(), hourly),
      data: pastData,
    });
    const week = document.getElementById("plot-week");
    plots.push({
      element: week, height: 220, data: weekData,
      plot: new uPlot(Object.assign(size(week, 220), {
        tzDate: utc, axes: axes().map((axis, i) => i ? axis : Object.assign(axis, { values: (u, times) => times.map(day) })), scales: { y: { range: (u, min, max) => [0, Math.max(max, 1)] } },
        series: [{ label: "Hour (UTC)", value: (u, s) => day(s) + " " + clock(s) }].concat(counts()),
      }), weekData(), week),
    });
    for (const [id, label, get] of [["plot-minutes", "Minute (UTC)", () => dueData("minutes", 60)], ["plot-hours", "Hour (UTC)", () => dueData("hours", 3600)]]) {
      const element = document.getElementById(id);
      plots.push({
        element, height: 160, data: get,
        plot: new uPlot(Object.assign(size(element, 160), {
          tzDate: utc, axes: axes(), scales: { y: { range: (u, min, max) => [0, Math.max(max, 1)] } },
          series: [{ label, value: (u, s) => clock(s) }, { label: "Due", points: { show: false }, stroke: color("--plot1"), fill: color("--h2"), width: 1, paths: uPlot.paths.bars({ size: [0.8, 60] }) }],
        }), get(), element),
      });
    }
  };

  function pastData() {
    const count = ((latest.series || {}).accepted || []).length;
    const times = Array.from({ length: count }, (_, i) => latest.since + i * 60);
    return [times].concat(names.map(([key]) => (latest.series || {})[key] || times.map(() => 0)));
  }

  function weekData() {
    const count = ((past.series || {}).accepted || []).length;
    const times = Array.from({ length: count }, (_, i) => past.since + i * 3600);
    return [times].concat(names.map(([key]) => (past.series || {})[key] || times.map(() => 0)));
  }

  function dueData(name, step) {
    const counts = latest[name] || [];
    return [counts.map((_, i) => latest[name + "_from"] + i * step), counts];
  }

  const show = () => {
    for (const element of document.querySelectorAll("[data-live]")) {
      const value = latest.values[element.dataset.live];
      if (value !== undefined) sendlimit.text(element, value);
    }
    for (const tile of document.querySelectorAll("[data-tile]")) tile.classList.toggle("alarm", Boolean((latest.alarms || {})[tile.dataset.tile]));
    showNeeds(latest.needs || []);
    // A row stays where it is: new ones come after the others, so that nothing moves under a pointer.
    for (const reasons of latest.reasons || []) {
      const table = document.querySelector('[data-reasons="' + reasons.name + '"]');
      if (!table) continue;
      const rows = new Map([...table.tBodies[0].rows].map((row) => [row.dataset.name, row]));
      for (const { name, count } of reasons.rows) {
        let row = rows.get(name);
        if (!row) {
          row = table.tBodies[0].insertRow();
          row.dataset.name = name;
          row.append(sendlimit.cell(name, "th"), sendlimit.cell(""));
        }
        sendlimit.text(row.cells[1], count);
        rows.delete(name);
      }
      for (const row of rows.values()) sendlimit.text(row.cells[1], "0");
      const empty = table.parentElement.querySelector(".empty");
      if (empty) empty.hidden = table.tBodies[0].rows.length > 0;
    }
    fillTable("table-hours", (latest.hours || []).map((n, i) => [sendlimit.time((latest.hours_from + i * 3600) * 1000, sendlimit.zone), sendlimit.number(n)]));
    fillTable("table-past", ((latest.series || {}).accepted || []).map((_, i) =>
      [new Date((latest.since + i * 60) * 1000).toISOString().slice(11, 16)].concat(names.map(([key]) => sendlimit.number(latest.series[key][i])))));
    for (const p of plots) p.plot.setData(p.data());
  };

  let needed = null;
  function showNeeds(needs) {
    const text = JSON.stringify(needs);
    if (text === needed) return; // what has the focus stays
    needed = text;
    const list = document.getElementById("needs");
    list.textContent = "";
    for (const { text, to } of needs) {
      const item = document.createElement("li");
      item.append(Object.assign(document.createElement("a"), { href: sendlimit.base + to, textContent: text }));
      list.append(item);
    }
    document.getElementById("healthy").hidden = needs.length > 0;
  }

  function fillTable(id, rows) {
    const body = document.getElementById(id).tBodies[0];
    rows.forEach((texts, i) => {
      const row = body.rows[i] || body.insertRow();
      texts.forEach((text, j) => {
        if (!row.cells[j]) row.append(sendlimit.cell("", j === 0 ? "th" : "td"));
        sendlimit.text(row.cells[j], text);
      });
    });
    while (body.rows.length > rows.length) body.deleteRow(-1);
  }

  const say = (text) => sendlimit.text(status, text);
  const tell = () => say((paused ? "Paused, as of " : "Live, as of ") + sendlimit.time(Math.floor(latest.at / 1000) * 1000, sendlimit.zone));

  const start = () => {
    source = new EventSource(sendlimit.base + "/live");
    source.addEventListener("overview", (event) => {
      latest = JSON.parse(event.data);
      if (latest.stopped !== stopped) { // for the banner
        location.reload();
        return;
      }
      show();
      // The time is no news for a reader of the screen.
      status.setAttribute("aria-live", "off");
      tell();
    });
    source.onerror = () => {
      status.setAttribute("aria-live", "polite");
      if (source.readyState === EventSource.CLOSED) {
        say("No more live updates: reload the page.");
        return;
      }
      say("No connection, as of " + sendlimit.time(Math.floor(latest.at / 1000) * 1000, sendlimit.zone) + ". Retrying.");
    };
  };
  const stop = () => {
    if (source) source.close();
    source = null;
  };

  pause.hidden = false;
  pause.addEventListener("click", () => {
    paused = !paused;
    pause.setAttribute("aria-pressed", String(paused));
    pause.textContent = paused ? "Resume" : "Pause";
    status.setAttribute("aria-live", "polite");
    if (paused) stop(); else start();
    tell();
  });
  document.addEventListener("visibilitychange", () => {
    if (paused) return;
    if (document.hidden) stop(); else if (!source) start();
  });
  addEventListener("pagehide", stop);
  addEventListener("resize", () => { for (const p of plots) p.plot.setSize(size(p.element, p.height)); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  draw();
  start();
})();
