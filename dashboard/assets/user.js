"use strict";
// Moves messages along the timeline, by pointer and by keyboard.
//
// The server sends once, when a message is taken up, which times are forbidden and why. While
// the message moves, this script judges by that. Where it is dropped the store decides.
(function () {
  const svg = document.getElementById("svg");
  if (!svg) return;
  const verdict = document.getElementById("verdict");
  const preview = document.getElementById("preview");
  const from = Number(svg.dataset.from), until = Number(svg.dataset.until);
  const width = svg.viewBox.baseVal.width, bottom = Number(svg.dataset.bottom);
  const zone = svg.dataset.zone;
  const user = svg.dataset.user;
  let held = null; // the message that is moved

  const say = (text, kind) => {
    sendlimit.text(verdict, text);
    verdict.className = "verdict" + (kind ? " " + kind : "");
  };
  const x = (at) => (at - from) / (until - from) * width;
  const clock = (ms) => sendlimit.time(ms, zone);

  // take learns which times are forbidden to a message.
  const take = async (mark) => {
    const id = mark.dataset.id;
    const state = { mark, id, at: Number(mark.dataset.at), target: Number(mark.dataset.at), known: null };
    held = state;
    mark.classList.add("moving");
    try {
      const known = await sendlimit.ask("/user/forbidden?" + new URLSearchParams({ name: user, id }));
      if (held !== state) return null;
      known.first = Math.max(known.from, known.now);
      known.last = Math.min(known.until - 1, known.latest, known.expires ? known.expires - 1 : Infinity);
      state.known = known;
      drawForbidden(known);
      return state;
    } catch (failed) {
      if (held === state) leave();
      say(failed.message, "no");
      return null;
    }
  };

  const leave = () => {
    if (held) held.mark.classList.remove("moving");
    held = null;
    preview.textContent = "";
  };

  // why returns what forbids a time, "" for nothing.
  const why = (known, at) => {
    if (at < known.first) return at < known.now ? "it is in the past" : "it is too far from the present send time";
    if (at > known.last) {
      if (known.expires && at >= known.expires) return "the message expires at " + clock(known.expires);
      return at > known.latest ? "it is too far ahead" : "it is too far from the present send time";
    }
    const reasons = [];
    for (const s of known.stretches) if (at >= s.from && at < s.until && !reasons.includes(s.why)) reasons.push(s.why);
    return reasons.join(" and ");
  };

  // next returns the first free time from a time on, and previous the last one up to it; null
  // for none.
  const next = (known, at) => {
    at = Math.max(at, known.first);
    for (let moved = true; moved;) {
      moved = false;
      for (const s of known.stretches) if (at >= s.from && at < s.until) { at = s.until; moved = true; }
    }
    return at <= known.last ? at : null;
  };
  const previous = (known, at) => {
    at = Math.min(at, known.last);
    for (let moved = true; moved;) {
      moved = false;
      for (const s of known.stretches) if (at >= s.from && at < s.until) { at = s.from - 1; moved = true; }
    }
    return at >= known.first ? at : null;
  };
  const nearest = (known, at) => {
    const later = next(known, at), earlier = previous(known, at);
    if (later === null) return earlier;
    if (earlier === null) return later;
    return later - at <= at - earlier ? later : earlier;
  };

  const shape = (name, attributes, into) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
    into.append(element);
    return element;
  };

  const drawForbidden = (known) => {
    preview.textContent = "";
    for (const s of known.stretches) {
      const left = Math.max(0, x(s.from)), right = Math.min(width, x(s.until));
      if (right > left) shape("rect", { class: "cannot", x: left, y: 4, width: right - left, height: bottom - 4 }, preview);
    }
    shape("line", { class: "ghost-line", x1: -9, x2: -9, y1: 4, y2: bottom }, preview);
    shape("circle", { class: "ghost", cx: -99, cy: 14, r: 7 }, preview);
  };

  const point = (at) => {
    const line = preview.querySelector(".ghost-line"), circle = preview.querySelector(".ghost");
    if (!line) return;
    line.setAttribute("x1", x(at));
    line.setAttribute("x2", x(at));
    circle.setAttribute("cx", x(at));
  };

  // show tells what a time would mean, and snaps to the nearest free one.
  const show = (wanted) => {
    const known = held.known;
    const reason = why(known, wanted);
    held.target = reason ? nearest(known, wanted) : wanted;
    if (held.target === null) {
      say(clock(wanted) + " is not free: " + reason + ". No time near it is free.", "no");
      return;
    }
    point(held.target);
    if (reason) say(clock(wanted) + " is not free: " + reason + ". The nearest free time is " + clock(held.target) + ".", "no");
    else say(clock(held.target) + " is free.", "yes");
  };

  // drop moves the message, if it has another time.
  const drop = async () => {
    const { mark, id, at, target } = held;
    leave();
    if (target === null || target === at) {
      say("The message stays at " + clock(at) + ".");
      return;
    }
    say("Moving to " + clock(target) + " …");
    try {
      const answer = await sendlimit.ask("/message/move", sendlimitForm(id, target));
      say(answer.said, "yes");
      mark.dataset.at = String(target);
      const circle = mark.querySelector("circle");
      circle.setAttribute("cx", x(target));
      mark.setAttribute("aria-label", id + ", moved, " + clock(target));
      if (target < from || target >= until) say(answer.said + " That is outside of what is shown.", "yes");
    } catch (failed) {
      const outcome = failed.body && failed.body.outcome;
      const free = outcome && outcome.next_free_at && !failed.message.includes("next free time") ? " The next free time is " + clock(Date.parse(outcome.next_free_at)) + "." : "";
      say(failed.message + free + " The message stays at " + clock(at) + ".", "no");
    }
  };
  const sendlimitForm = (id, target) => Object.assign(sendlimit.form({ user, id, send_at: new Date(target).toISOString() }), { headers: { Accept: "application/json" } });

  // By pointer.
  const timeAt = (event) => {
    const box = svg.getBoundingClientRect();
    const share = (event.clientX - box.left) / box.width;
    return Math.round((from + share * (until - from)) / 1000) * 1000;
  };
  for (const mark of svg.querySelectorAll(".mark.movable")) {
    let start = null, dragged = false, last = null; // the last event of the pointer
    mark.addEventListener("dragstart", (event) => event.preventDefault());
    mark.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      start = event.clientX;
      dragged = false;
      mark.setPointerCapture(event.pointerId);
    });
    mark.addEventListener("pointermove", (event) => {
      if (start === null) return;
      last = event;
      if (!dragged && Math.abs(event.clientX - start) > 3) {
        dragged = true;
        take(mark).then((state) => { if (state && dragged) show(timeAt(last)); });
      }
      if (dragged && held && held.mark === mark && held.known) show(timeAt(event));
    });
    const end = async (event, cancelled) => {
      if (start === null) return;
      start = null;
      if (!dragged) return;
      if (!held || held.mark !== mark) return;
      if (cancelled || !held.known) {
        const at = held.at;
        leave();
        say(cancelled ? "The message stays at " + clock(at) + "." : "Dropped before the free times were known: the message stays at " + clock(at) + ".");
        return;
      }
      await drop();
    };
    mark.addEventListener("pointerup", (event) => end(event, false));
    mark.addEventListener("pointercancel", (event) => end(event, true));
    mark.addEventListener("click", (event) => {
      if (dragged) event.preventDefault();
      dragged = false;
    });

    // By keyboard.
    mark.addEventListener("keydown", async (event) => {
      const step = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
      if (step) {
        event.preventDefault();
        if (!held || held.mark !== mark) {
          leave();
          if (!await take(mark)) return;
        }
        if (!held || !held.known) return;
        walk(held, step, event.shiftKey ? 3600000 : 60000);
      } else if (event.key === "Enter" && held && held.mark === mark) {
        event.preventDefault();
        if (held.known) await drop();
      } else if (event.key === "Escape" && held) {
        event.preventDefault();
        const at = held.at;
        leave();
        say("The message stays at " + clock(at) + ".");
      }
    });
    mark.addEventListener("blur", () => {
      if (held && held.mark === mark && start === null) leave();
    });
  }
  // walk steps to the next or previous free time: the next minute if that is free, else the end
  // of what forbids it.
  const walk = (state, step, by) => {
    const wanted = step > 0 ? Math.floor(state.target / 60000) * 60000 + by : Math.ceil(state.target / 60000) * 60000 - by;
    const reason = why(state.known, wanted);
    const target = step > 0 ? next(state.known, wanted) : previous(state.known, wanted);
    if (target === null) {
      say("There is no " + (step > 0 ? "later" : "earlier") + " free time: " + (reason || "the end is reached") + ".", "no");
      return;
    }
    state.target = target;
    point(target);
    say(clock(target) + " is free." + (reason ? " In between: " + reason + "." : "") + " Enter moves the message there.", "yes");
  };

  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && held) {
      const at = held.at;
      leave();
      say("The message stays at " + clock(at) + ".");
    }
  });
})();
