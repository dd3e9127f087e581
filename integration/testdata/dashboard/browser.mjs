// What the stories need of the browser: pages that report what goes wrong on them, and checks.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { chromium } from "playwright-core";

export const plan = JSON.parse(process.env.SENDLIMIT_PLAN);
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

export const start = () => chromium.launch({ executablePath: plan.chromium, args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--disable-extensions"] });

// walked has the pages that stories share, by their keys.
const walked = new Map();

// walk returns the page of a person who is logged in with a key, wherever the last story left
// it: logging in, and a window of its own, take longer than most stories.
export const walk = async (browser, key) => {
  let page = walked.get(key);
  if (!page || page.isClosed()) walked.set(key, page = await open(browser, key));
  page.said.length = 0;
  return page;
};

// open returns a page of its own, logged in with a key. It notes what its console says.
export const open = async (browser, key, options = {}) => {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, acceptDownloads: true, reducedMotion: "reduce", ...options });
  context.setDefaultTimeout(180000);
  const page = await context.newPage();
  const goto = page.goto.bind(page);
  page.goto = (path) => goto(plan.url + path); // which may end with a path
  page.said = [];
  page.on("console", (message) => { if (message.type() === "error") page.said.push(message.text()); });
  page.on("pageerror", (error) => page.said.push(String(error)));
  if (key) await login(page, key);
  return page;
};

export const login = async (page, key) => {
  await page.goto("/login");
  await page.getByLabel("API key").fill(key);
  await page.getByRole("button", { name: "Log in" }).click();
};

// quiet requires that the console said nothing, but for answers with one of the statuses.
export const quiet = (page, ...statuses) => {
  const heard = page.said.filter((text) => !statuses.some((status) => text.includes("status of " + status)));
  page.said.length = 0;
  assert.deepEqual(heard, [], "the console of " + page.url());
};

const allRules = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"];

// accessible requires that axe finds nothing, and that the page is not wider than the window.
export const accessible = async (page, what) => {
  await withoutViolations(page, { runOnly: allRules }, what);
  await fitting(page, what);
};

// structured is accessible without the colours, which take most of the time on a long page.
export const structured = (page, what) => withoutViolations(page, { runOnly: allRules, rules: { "color-contrast": { enabled: false } } }, what);

// legible requires what another colour scheme or another width can change on a page that is
// accessible while the same is visible: the colours, what is scrolled, and the width.
export const legible = async (page, what) => {
  await page.evaluate(() => Promise.all(document.getAnimations().map((fading) => fading.finished)));
  await withoutViolations(page, { runOnly: ["color-contrast", "link-in-text-block", "scrollable-region-focusable"] }, what);
  await fitting(page, what);
};

// looks returns which elements of a page are visible, and in which colours.
export const looks = (page) => page.evaluate(() => [...document.querySelectorAll("body *")].map((e) => {
  if (!e.checkVisibility({ visibilityProperty: true }) || e.getBoundingClientRect().right <= 0) return "";
  const style = getComputedStyle(e);
  return [style.color, style.backgroundColor, style.opacity].join();
}).join(";"));

// oneOfEachKind removes elements whose parts all look like those of others, by their names and
// classes.
export const oneOfEachKind = (page, selector) => page.evaluate((selector) => {
  const seen = new Set();
  for (const element of document.querySelectorAll(selector)) {
    const kinds = [element, ...element.querySelectorAll("*")].map((part) => {
      let kind = "";
      for (; part !== element.parentElement; part = part.parentElement) kind += " " + part.localName + "." + part.className;
      return kind;
    });
    if (kinds.every((kind) => seen.has(kind))) element.remove();
    for (const kind of kinds) seen.add(kind);
  }
}, selector);

// fitting requires that the page is not wider than the window.
export const fitting = async (page, what) => {
  const wider = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  assert.ok(wider <= 0, what + " is " + wider + " pixels wider than its window");
};

// withoutViolations requires that axe finds nothing wrong.
const withoutViolations = async (page, options, what) => {
  if (!await page.evaluate(() => "axe" in globalThis)) await page.evaluate(axe + ";0");
  const violations = await page.evaluate(async (options) => {
    const found = await globalThis.axe.run(document, { ...options, resultTypes: ["violations"], preload: false });
    return found.violations.map((v) => v.id + ": " + v.nodes.slice(0, 3).map((n) => n.html.slice(0, 200)).join(" | "));
  }, options);
  assert.deepEqual(violations, [], what);
};

// api asks the API with the operator's key, beside the browser.
export const api = async (path, options = {}) => {
  const answer = await fetch(plan.url + path, {
    ...options, headers: { Authorization: "Bearer " + plan.keys.content, "Content-Type": "application/json", ...options.headers },
  });
  const text = await answer.text();
  return { status: answer.status, body: text ? JSON.parse(text.trim().split("\n").at(-1)) : null };
};

export const submit = (message) => api("/v1/messages", { method: "POST", body: JSON.stringify({ title: "Test", ...message }) });

export const statusOf = async (user, id) => (await api("/v1/users/" + encodeURIComponent(user) + "/messages/" + encodeURIComponent(id))).body;

// eventually waits until a check passes.
export const eventually = async (check, what) => {
  let last;
  for (let tries = 0; tries < 150; tries++) {
    try { return await check(); } catch (failed) { last = failed; }
    await new Promise((go) => setTimeout(go, 100));
  }
  throw new Error("not within 15 s: " + what + ": " + last);
};

export const number = (text) => Number(text.replaceAll(",", ""));
