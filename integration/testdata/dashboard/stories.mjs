// A person's ways through the dashboard. Each story stands alone but for what "plan" set up.
import assert from "node:assert/strict";
import { mkdirSync, readFileSync } from "node:fs";
import { accessible, api, eventually, fitting, legible, login, looks, number, oneOfEachKind, open, plan, quiet, statusOf, structured, submit, walk } from "./browser.mjs";

const minute = 60000, hour = 60 * minute, day = 24 * hour;
// A time far from the traffic, on a whole hour.
const base = Math.ceil(Date.now() / day) * day + 100 * day + 12 * hour;
const iso = (ms) => new Date(ms).toISOString();
// input returns a time as a field of a form takes it.
const input = (ms) => iso(ms).slice(0, ms % minute ? 19 : 16);

const pages = () => [
  "/", "/users", "/user?name=" + plan.user, "/messages", "/message?user=" + plan.user + "&id=" + plan.message + "&content=yes", "/campaigns",
  "/campaign?name=autumn&account=acme", "/plan", "/policies", "/policy?name=default", "/policy?name=other&new=yes", "/schedule", "/search?q=" + plan.user, "/accounts", "/account?name=acme", "/tiers",
  "/dead-letters", "/alerts", "/workers", "/audit", "/docs",
];

export const stories = {
  async "each scope meets its bounds"(browser) {
    const page = await open(browser);
    await page.goto("/user?name=" + plan.user);
    assert.match(page.url(), /\/login\?to=/);
    await page.getByLabel("API key").fill("sk_wrong");
    await page.getByRole("button", { name: "Log in" }).click();
    await page.getByText("The key is unknown").waitFor();
    await page.getByLabel("API key").fill(plan.keys.read);
    await page.getByRole("button", { name: "Log in" }).click();
    await page.getByRole("heading", { name: "User " + plan.user }).waitFor(); // where it wanted to go
    assert.equal(await page.getByRole("link", { name: "Policies" }).count(), 0);
    assert.equal(await page.locator(".mark.movable").count(), 0, "a key that only reads moves nothing");
    quiet(page, 401);
    assert.equal((await page.goto("/policies")).status(), 403);
    await page.getByText("requires the scope admin").waitFor();
    assert.equal((await page.goto("/message?user=" + plan.other.user + "&id=" + plan.other.id)).status(), 404, "another account's message");
    await page.goto("/");
    await page.getByRole("heading", { name: "The last days" }).waitFor();
    await page.getByRole("button", { name: "Log out" }).click();
    await page.getByRole("heading", { name: "Log in" }).waitFor();
    await page.goto("/users");
    assert.match(page.url(), /\/login/);

    await login(page, plan.keys.submit);
    await page.getByText("Your key may only submit messages").waitFor();
    await login(page, plan.keys.admin);
    await page.getByRole("link", { name: "Policies" }).waitFor();
    await page.goto("/message?user=" + plan.user + "&id=" + plan.message + "&content=yes");
    await page.getByText("your key may not see it").waitFor();
    await login(page, plan.keys.content);
    await page.goto("/message?user=" + plan.user + "&id=" + plan.message);
    assert.equal(await page.getByText(plan.title).count(), 0, "content is hidden until asked for");
    await page.getByRole("link", { name: "Show the content" }).click();
    await page.getByText(plan.title).waitFor();
    await page.goto("/audit?action=show+content");
    await page.getByRole("cell", { name: "show content" }).first().waitFor();
    await page.context().close();
  },

  // A page is loaded as on a phone, and then widened. Neither a scheme nor a width shows other
  // things or changes how they are made; a width changes no colour. What does is looked at again.
  // A run looks at every other page.
  async "every page is accessible, in both schemes and at both widths"(browser) {
    const narrow = { width: 390, height: 900 }, wide = { width: 1440, height: 900 };
    const page = await open(browser, plan.keys.content, { viewport: narrow });
    for (const path of pages().filter((_, i) => i % 2 === plan.half)) {
      await page.emulateMedia({ colorScheme: "light" });
      await page.goto(path);
      if (path === "/docs") {
        await structured(page, path);
        await fitting(page, path);
        await oneOfEachKind(page, ".entry");
      }
      await page.evaluate(() => { for (const folded of document.querySelectorAll("main details")) folded.open = true; });
      await accessible(page, path + " on a phone");
      const light = await looks(page);
      await page.setViewportSize(wide);
      await (light === await looks(page) ? fitting : accessible)(page, path);
      await page.emulateMedia({ colorScheme: "dark" });
      await legible(page, path + ", dark");
      const dark = await looks(page);
      await page.setViewportSize(narrow);
      if (dark !== await looks(page)) await legible(page, path + " on a phone, dark");
      quiet(page);
    }
    await page.context().close();
  },

  async "the overview has the store's numbers, live"(browser) {
    const page = await walk(browser, plan.keys.admin);
    await page.goto("/");
    const shown = async (name) => number(await page.locator('[data-live="' + name + '"]').textContent());
    await eventually(async () => {
      assert.equal(await shown("accepted"), plan.expected.accepted);
      assert.equal(await shown("refused"), plan.expected.refused);
    }, "what was accepted and refused");
    await eventually(async () => assert.equal(await shown("pending"), plan.expected.pending), "what is scheduled");
    await eventually(async () => assert.equal(await shown("dead_letters"), plan.expected.deadLetters), "dead letters");
    assert.equal(await shown("workers"), 1);
    for (const [rule, count] of Object.entries(plan.expected.byRule)) {
      assert.equal(number(await page.locator('[data-reasons="refused"] tr[data-name="' + rule + '"] td').textContent()), count, rule);
    }
    const before = await shown("accepted");
    await submit({ id: "live-1", user: "live", send_at: iso(base) });
    await eventually(async () => assert.equal(await shown("accepted"), before + 1), "a submit without loading the page again");
    const other = await open(browser, plan.keys.admin);
    await page.getByRole("button", { name: "Pause" }).click();
    await submit({ id: "live-2", user: "live", send_at: iso(base + hour) });
    await eventually(async () => assert.equal(number(await other.locator('[data-live="accepted"]').textContent()), before + 2), "an update elsewhere");
    assert.equal(await shown("accepted"), before + 1, "paused");
    await other.context().close();
    await page.getByRole("button", { name: "Resume" }).click();
    await eventually(async () => assert.equal(await shown("accepted"), before + 2), "going on");
    await page.getByRole("link", { name: "Failures", exact: true }).click();
    await page.getByRole("heading", { name: "Failures" }).waitFor();
    quiet(page);
  },

  async "a live update moves nothing that is being clicked"(browser) {
    const page = await walk(browser, plan.keys.admin);
    await page.goto("/");
    const place = async () => (await page.locator('[data-reasons="refused"] tr').nth(1).boundingBox()).y;
    const refused = async () => number(await page.locator('[data-live="refused"]').textContent());
    const before = await refused(), at = await place();
    for (let i = 0; i < 2; i++) await submit({ id: "burst-" + i, user: "aaa", send_at: iso(base + 30 * day + i * 1000), category: "unknown" });
    await eventually(async () => assert.ok(await refused() > before), "the update");
    assert.equal(await place(), at);
  },

  async "what is sought is found, in the reader's zone, also on a phone"(browser) {
    const page = await open(browser, plan.keys.admin, { viewport: { width: 390, height: 800 }, timezoneId: "Asia/Kolkata" });
    await submit({ id: "sought", user: "sought-user", send_at: iso(base) });
    await submit({ id: "twice", user: "twice", send_at: iso(base) });
    await page.goto("/");
    const menu = page.getByRole("navigation", { name: "Pages" });
    assert.equal(await menu.isVisible(), false);
    await page.getByRole("button", { name: "Menu" }).press("Enter");
    await menu.getByRole("link", { name: "Policies" }).click();
    await page.getByRole("heading", { name: "Policies" }).waitFor();
    await page.waitForLoadState();
    for (const [sought, heading] of [["sought", "Message sought"], ["sought-user", "User sought-user"], ["zeta", "Account zeta"]]) {
      await page.locator("h1").press("/"); // the key of the search
      await page.keyboard.type(sought);
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { name: heading, exact: true }).waitFor();
      await page.waitForLoadState(); // the key has no meaning before the page's script runs
    }
    await page.goto("/search?q=twice");
    assert.deepEqual(await page.locator("tbody td:first-child").allTextContents(), ["User", "Message"]);
    await page.goto("/search?q=nobody");
    await page.getByText("No user, message, campaign or account is named nobody.").waitFor();
    await page.goto("/message?user=sought-user&id=sought");
    const time = page.locator("main time").first();
    assert.equal(await time.textContent(), iso(base + 5.5 * hour).slice(0, 19).replace("T", " ") + " GMT+5:30");
    assert.equal(await time.getAttribute("title"), iso(base));
    await page.getByLabel("Times in").selectOption("UTC");
    assert.equal(await time.textContent(), iso(base).slice(0, 19).replace("T", " ") + " UTC");
    await page.getByRole("navigation", { name: "Way to this page" }).getByRole("link", { name: "sought-user" }).click();
    await page.getByRole("heading", { name: "User sought-user" }).waitFor();
    assert.equal(await page.getByLabel("Times in").inputValue(), "UTC", "it is kept");
    quiet(page);
    await page.context().close();
  },

  async "a message is dragged, and a refusal is explained"(browser) {
    const user = "drag er/1";
    for (const [id, at] of [["first", base], ["second", base + hour], ["held", base + 5 * hour]]) assert.equal((await submit({ id, user, send_at: iso(at) })).status, 201);
    const page = await walk(browser, plan.keys.admin);
    await page.goto("/user?" + new URLSearchParams({ name: user, at: iso(base + 2 * hour), span: "1d" }));
    const mark = (id) => page.locator('.mark[data-id="' + id + '"]');
    const verdict = page.locator("#verdict");
    const svg = await page.locator("#svg").boundingBox();
    const [from, until] = await page.locator("#svg").evaluate((e) => [Number(e.dataset.from), Number(e.dataset.until)]);
    const x = (at) => svg.x + (at - from) / (until - from) * svg.width;
    const middle = async (id) => { const box = await mark(id).locator("circle").boundingBox(); return [box.x + box.width / 2, box.y + box.height / 2]; };

    // What is forbidden is only known once the pointer rests.
    let rests;
    const resting = new Promise((go) => { rests = go; });
    await page.route("**/user/forbidden?*", async (route) => { await resting; await route.continue(); });
    await page.mouse.move(...await middle("held"));
    await page.mouse.down();
    await page.mouse.move(x(base + 3 * hour), svg.y + 30, { steps: 4 });
    await page.mouse.move(x(base), svg.y + 30, { steps: 8 });
    rests();
    await page.getByText("is not free: the rule 1/minute. The nearest free time is").waitFor();
    await page.mouse.move(x(base + 2 * hour), svg.y + 30, { steps: 8 });
    await page.getByText("is free.").waitFor();
    await page.mouse.up();
    await page.getByText("Moved to").waitFor();
    const moved = Date.parse((await statusOf(user, "held")).send_at);
    assert.ok(Math.abs(moved - (base + 2 * hour)) < 5 * minute, "moved to " + iso(moved));
    assert.equal(Number(await mark("held").getAttribute("data-at")), moved);

    // Dropped on a time that is not free, it snaps to the nearest that is.
    await page.mouse.move(...await middle("held"));
    await page.mouse.down();
    await page.mouse.move(x(base + hour + 30 * minute), svg.y + 30, { steps: 4 });
    await page.mouse.move(x(base + hour), svg.y + 30, { steps: 8 });
    await page.getByText("is not free: the rule 1/minute").waitFor();
    await page.mouse.up();
    await page.getByText("Moved to").waitFor();
    const snapped = Date.parse((await statusOf(user, "held")).send_at);
    assert.ok([base + hour - minute, base + hour + minute].includes(snapped), "snapped to " + iso(snapped));

    // The store has the last word: somebody else takes the time while the message is dragged.
    await page.mouse.move(...await middle("held"));
    await page.mouse.down();
    await page.mouse.move(x(base + 7 * hour), svg.y + 30, { steps: 8 });
    await page.getByText("is free.").waitFor();
    const wanted = /\d{4}-\d\d-\d\d \d\d:\d\d:\d\d/.exec(await verdict.textContent())[0].replace(" ", "T") + "Z";
    assert.equal((await submit({ id: "rival", user, send_at: wanted })).status, 201);
    await page.mouse.up();
    await page.getByText("The message stays at").waitFor();
    assert.match(await verdict.textContent(), /within 1 minute; the next free time is/);
    assert.equal(Date.parse((await statusOf(user, "held")).send_at), snapped);
    quiet(page, 409);

    // A click without dragging opens the message.
    await page.mouse.click(...await middle("first"));
    await page.getByRole("heading", { name: "Message first" }).waitFor();
  },

  async "a message is moved by keyboard"(browser) {
    const user = "keys";
    for (const [id, at] of [["one", base], ["two", base + 10 * minute]]) assert.equal((await submit({ id, user, send_at: iso(at) })).status, 201);
    const page = await walk(browser, plan.keys.admin);
    await page.goto("/user?" + new URLSearchParams({ name: user, at: iso(base), span: "6h" }));
    const mark = page.locator('.mark[data-id="two"]');
    await mark.focus();
    await page.keyboard.press("ArrowRight");
    await page.locator("#verdict", { hasText: iso(base + 11 * minute).slice(11, 19) + " UTC is free" }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByText("The message stays at").waitFor();
    assert.equal(Date.parse((await statusOf(user, "two")).send_at), base + 10 * minute);
    // Steps to the left pass over what "one" and its minute take.
    for (let i = 0; i < 10; i++) {
      await page.keyboard.press("ArrowLeft");
      await page.locator("#verdict.yes").waitFor();
    }
    assert.match(await page.locator("#verdict").textContent(), /In between: the rule 1\/minute/);
    await page.keyboard.press("Enter");
    await page.getByText("Moved to").waitFor();
    assert.equal(Date.parse((await statusOf(user, "two")).send_at), base - minute);
    quiet(page);
  },

  async "a user's settings, test messages and devices"(browser) {
    const page = await walk(browser, plan.keys.content);
    await page.goto("/user?name=settled");
    const tab = (name) => page.getByRole("tab", { name }).click();
    await tab("Settings");
    await page.getByLabel("Limits", { exact: true }).fill("20/calendar_dy");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("20/calendar_dy").first().waitFor();
    assert.equal(await page.getByLabel("Limits", { exact: true }).getAttribute("aria-invalid"), "true");
    assert.equal(await page.getByLabel("Limits", { exact: true }).inputValue(), "20/calendar_dy", "the input stays");
    await page.getByLabel("Limits", { exact: true }).fill("20/calendar_day");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("The settings were saved").waitFor();
    assert.equal(await page.getByLabel("Limits", { exact: true }).isVisible(), true, "the tab is still open");
    await tab("Timeline");
    await page.getByText("0 of 20").waitFor();
    await page.getByLabel("Send time, UTC").fill(input(base));
    await page.getByRole("button", { name: "Submit" }).click();
    await page.getByText("Accepted. It will be sent at").waitFor();
    await page.getByLabel("Send time, UTC").fill(input(base + 30000));
    await page.getByRole("button", { name: "Submit" }).click();
    await page.locator(".said.failed").waitFor();
    assert.match(await page.locator(".said.failed").textContent(), /within 1 minute; the next free time is/);
    await page.getByRole("tab", { name: "Timeline" }).press("ArrowRight");
    await page.getByText("Register a device").click();
    await page.getByLabel("Token").fill("cJ3example:APA91b");
    await page.getByLabel("Id", { exact: true }).last().fill("phone");
    await page.getByRole("button", { name: "Register" }).click();
    await page.getByText("The device phone is added").waitFor();
    await page.getByRole("button", { name: "Remove the device phone" }).click();
    await page.getByText("Remove the device phone?").waitFor();
    await page.getByRole("button", { name: "Remove" }).click();
    await page.getByText("The device was removed").waitFor();
    await tab("Settings");
    await page.getByLabel("Blocked: no message is accepted for the user").check();
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("link", { name: "No, go back" }).click();
    assert.equal((await api("/v1/users/settled/settings")).body.blocked, false, "no means no");
    quiet(page, 422, 409);
  },

  async "a policy is edited, tried with a slider, applied and rolled back"(browser) {
    const page = await walk(browser, plan.keys.admin);
    await page.goto("/policy?name=default");
    await page.getByLabel("Time zone", { exact: true }).fill("Europe/Nowhere");
    await page.getByLabel("Quiet hours").first().fill("25:00-08:00");
    await page.locator('[data-field="time_zone"] .wrong').waitFor();
    await page.locator('[data-field="quiet_hours"] .wrong').waitFor();
    await page.getByRole("button", { name: "Apply" }).click();
    await page.getByText("The policy was not applied").waitFor();
    assert.equal(await page.getByLabel("Quiet hours").first().inputValue(), "25:00-08:00");
    await page.goto("/policy?name=default");

    const slide = async (value) => page.locator('.limit[data-window="calendar_day"]').evaluate((e, v) => { e.value = v; e.dispatchEvent(new Event("input", { bubbles: true })); }, value);
    await slide("2");
    const verdict = page.locator("#misfits");
    await page.locator("#misfits", { hasText: /^[\d,]+ messages? of .* would no longer fit/ }).waitFor();
    const told = await verdict.textContent();
    const found = /^([\d,]+) messages? of ([\d,]+) scheduled messages? of ([\d,]+) users?/.exec(told);
    assert.ok(found, told);
    const summary = (await api("/v1/policies/default/dry-run", { method: "POST", body: JSON.stringify({ rules: ["1/minute", "5/hour", "2/calendar_day"] }) })).body;
    assert.equal(summary.outcome, "dry_run");
    assert.equal(number(found[1]), summary.misfits);
    assert.equal(number(found[3]), summary.misfit_users);
    assert.ok(summary.misfits > 0);
    assert.equal((await api("/v1/policies/default")).body.version, 1, "nothing is changed yet");

    await slide("12");
    await page.locator("#misfits", { hasText: /^0 messages of .* would no longer fit/ }).waitFor();
    await page.getByRole("button", { name: "Apply" }).click();
    await page.getByText("Apply this to the policy default?").waitFor();
    await page.getByText('+     "12/calendar_day"').waitFor();
    await page.getByText(/^All [\d,]+ scheduled messages would fit\./).waitFor();
    await accessible(page, "a question about a policy");
    await page.getByRole("button", { name: "Apply" }).click();
    await page.getByText("Version 2 of the policy was applied").waitFor();
    await page.getByRole("button", { name: "Count them" }).click();
    await page.locator("#refit-said", { hasText: /^0 scheduled messages of 0 users do not fit/ }).waitFor();
    await page.locator("summary", { hasText: "Version 2" }).click();
    await page.getByText('+     "12/calendar_day"').waitFor();
    await page.locator("summary", { hasText: "Version 1," }).click();
    await page.getByRole("button", { name: "Roll back to version 1" }).click();
    await page.getByRole("button", { name: "Roll back" }).click();
    await page.getByText("The policy was rolled back to version 1").waitFor();
    assert.deepEqual((await api("/v1/policies/default")).body.rules, ["1/minute", "5/hour", "10/calendar_day"]);
    quiet(page, 422);
  },

  async "a file of more messages than a dry run copies is judged whole"(browser) {
    const page = await walk(browser, plan.keys.admin);
    await page.goto("/plan");
    await page.getByLabel("File").setInputFiles({ name: "large.csv", mimeType: "text/csv", buffer: Buffer.from(
      "user,send_at,title\n" + Array.from({ length: 10_020 }, (_, i) => "large-" + (i % 5010) + "," + iso(base + 40 * day + i) + ",Hello").join("\n") + "\n") });
    await page.getByText("5,010 would be accepted, 5,010 would not").waitFor();
    assert.ok(await page.locator("#left").isHidden());
  },

  async "a campaign is planned, judged by other limits, submitted and downloaded"(browser) {
    const page = await walk(browser, plan.keys.admin);
    await page.goto("/plan");
    await page.getByLabel("File").setInputFiles({ name: "spring.csv", mimeType: "text/csv", buffer: Buffer.from(
      "user,send_at,title\n" + Array.from({ length: 40 }, (_, i) => "planned," + iso(base + 40 * day + i * minute).replace("Z", "") + ",Hello").join("\n") + "\nplanned,no time,Hello\n") });
    const counts = async () => {
      const all = [];
      for (const id of ["all", "accepted", "replayed", "refused", "invalid"]) all.push(number(await page.locator("#n-" + id).textContent()));
      return all;
    };
    const button = page.getByRole("button", { name: "Submit" });
    await page.getByText("use a time with its zone").first().waitFor();
    await page.getByLabel("Time zone").fill("UTC");
    await page.getByText("5 would be accepted, 36 would not. Times without a zone are in UTC.").waitFor();
    await page.getByLabel("Campaign").fill("spring"); // after the file
    assert.ok(await button.isDisabled(), "it is judged again first");
    await eventually(async () => assert.ok(await button.isEnabled()), "it is judged");
    assert.deepEqual(await counts(), [41, 5, 0, 35, 1]);
    assert.match(await page.locator("#why-rows").textContent(), /5\/hour/);
    assert.equal((await api("/v1/messages?campaign=spring")).body.messages.length, 0, "nothing is submitted yet");
    await page.locator('.limit[data-window="hour"]').evaluate((e) => { e.value = "8"; e.dispatchEvent(new Event("input", { bubbles: true })); });
    await page.getByText("With 8/hour: 8 would be accepted").waitFor();
    assert.ok(await button.isDisabled(), "nothing is submitted under other limits than the stored ones");
    await page.getByRole("button", { name: "As in the policy" }).click();
    await page.getByText("5 would be accepted, 36 would not").waitFor();
    await eventually(async () => assert.ok(await button.isEnabled()), "it is judged");
    await accessible(page, "a plan");
    page.once("dialog", (dialog) => dialog.accept());
    await button.click();
    await page.getByText("Submitted: 5 accepted, 36 not").waitFor();
    const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Download the outcome" }).click()]);
    const rows = readFileSync(await download.path(), "utf8").trim().split("\n");
    assert.equal(rows.length, 42);
    assert.equal(rows.filter((row) => row.includes(",accepted,")).length, 5);
    // The same file again is the same messages.
    page.once("dialog", (dialog) => dialog.accept());
    await button.click();
    await page.getByText("Submitted: 0 accepted, 5 submitted before, 36 not").waitFor();
    assert.deepEqual(await counts(), [41, 0, 5, 35, 1]);
    assert.equal((await api("/v1/messages?campaign=spring")).body.messages.length, 5);
    quiet(page);
    await page.goto("/campaigns");
    await page.getByLabel("Campaign").fill("spring");
    await page.getByLabel("Account").fill(plan.operator);
    await page.getByRole("button", { name: "Count its messages" }).click();
    await page.getByRole("button", { name: "Pause" }).click();
    await page.getByText("The campaign is paused").waitFor();
    await page.getByRole("button", { name: "Resume" }).click();
    await page.getByText("The campaign was resumed").waitFor();
    await page.getByRole("button", { name: "Cancel all messages" }).click();
    await page.getByText("It has 5 messages not sent yet").waitFor();
    await page.getByRole("button", { name: "Cancel all" }).click();
    await page.getByText("Cancelled: 5 messages").waitFor();
  },

  async "chosen messages are moved and cancelled together"(browser) {
    const page = await walk(browser, plan.keys.content);
    for (let i = 0; i < 3; i++) await submit({ user: "chosen", id: "c" + i, title: "Title " + i, send_at: iso(base + day + i * minute) });
    await page.goto("/messages?user=chosen");
    await page.getByRole("link", { name: "Show titles" }).click();
    await page.getByText("Title 2").waitFor();
    await page.getByLabel("All on this page").check();
    await page.getByLabel("Move by").fill("1m");
    await page.getByRole("button", { name: "Move selected" }).click();
    await page.getByText("Move 3 messages by 1m0s?").waitFor();
    await page.getByRole("button", { name: "Move them" }).click();
    await page.getByText("3 messages moved by 1m0s.").waitFor();
    await page.getByLabel("Choose c1 to chosen").check();
    await page.getByText("1 chosen").waitFor();
    await page.getByRole("button", { name: "Cancel selected" }).click();
    await page.getByRole("button", { name: "Cancel them" }).click();
    await page.getByText("1 message cancelled.").waitFor();
    quiet(page);
  },

  async "dead letters are filtered, retried and removed"(browser) {
    const page = await walk(browser, plan.keys.admin);
    await page.goto("/dead-letters");
    assert.equal(await page.locator('input[name="chosen"]').count(), plan.expected.deadLetters);
    await page.getByLabel("All on this page").check();
    await page.getByText(plan.expected.deadLetters + " chosen").waitFor();
    await page.getByLabel("All on this page").uncheck();
    await page.getByLabel("User").fill("broken-1");
    await page.getByRole("button", { name: "Filter" }).click();
    await eventually(async () => assert.equal(await page.locator('input[name="chosen"]').count(), 1), "the page is there");
    await page.getByRole("link", { name: "fails-1" }).click();
    await page.goBack();
    assert.equal(await page.getByLabel("User").inputValue(), "broken-1", "the filter is still there after going back");
    const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name: "Download as CSV" }).click()]);
    assert.equal(readFileSync(await download.path(), "utf8").trim().split("\n").length, 2, "of the filtered list");
    await page.locator('input[name="chosen"]').check();
    await page.getByRole("button", { name: "Retry selected" }).click();
    await page.getByText("1 dead letter will be sent again").waitFor();
    const boxes = page.locator('input[name="chosen"]');
    await eventually(async () => {
      await page.goto("/dead-letters");
      assert.equal(await boxes.count(), plan.expected.deadLetters);
    }, "it failed again");
    const left = await boxes.count();
    await boxes.first().check();
    await boxes.nth(1).check();
    await page.getByRole("button", { name: "Remove selected" }).click();
    await page.getByText("Remove 2 dead letters?").waitFor();
    await page.getByRole("link", { name: "No, go back" }).click();
    // A click waits until the page comes, not until all of it is there.
    await eventually(async () => assert.equal(await boxes.count(), left), "no means no");
    await boxes.first().check();
    await boxes.nth(1).check();
    await page.getByRole("button", { name: "Remove selected" }).click();
    await page.getByRole("button", { name: "Remove" }).click();
    await page.getByText("2 dead letters removed").waitFor();
    quiet(page);
  },

  async "accounts, keys, tiers and the pace"(browser) {
    const page = await walk(browser, plan.keys.admin);
    await page.goto("/accounts");
    await page.getByLabel("Name").fill("fresh");
    await page.getByRole("button", { name: "Create" }).click();
    await page.getByText("The account fresh was created").waitFor();
    await page.getByRole("button", { name: "Make a key" }).click();
    const key = await page.locator("code.secret").textContent();
    assert.match(key, /^sk_/);
    const other = await open(browser, key);
    await other.getByRole("heading", { name: "Quota" }).waitFor();
    await page.getByRole("button", { name: /^Remove the key/ }).click();
    await page.getByText("Programs that use it are refused at once").waitFor();
    await page.getByRole("button", { name: "Remove" }).click();
    await page.getByText("was removed").waitFor();
    await eventually(async () => { await other.goto("/"); assert.match(other.url(), /\/login/); }, "a session ends with its key");
    await page.goto("/audit?object=fresh");
    assert.equal((await page.content()).includes(key), false, "no secret in the audit log");
    await page.goto("/tiers");
    await page.getByLabel("Name").fill("tiny");
    await page.getByLabel("Messages a day").last().fill("7");
    await page.getByRole("button", { name: "Create the tier" }).click();
    await page.getByText("The tier tiny was saved").waitFor();
    await page.goto("/workers");
    await page.getByLabel("Rate", { exact: true }).fill("50/second");
    await page.getByRole("button", { name: "Set" }).click();
    await page.getByText("at most 50/").waitFor();
    await page.getByRole("button", { name: "Remove" }).click();
    await page.getByRole("button", { name: "Remove" }).click();
    await page.getByText("The pace was removed").waitFor();
    quiet(page);
    await other.context().close();
  },

  // TestUsersWithHostileNames sends each form for many more.
  async "hostile content is text, and breaks no link"(browser) {
    const page = await walk(browser, plan.keys.content);
    for (const [i, user] of ['<img src=x onerror="document.title=1">', "..", "a/b?c#d&e=gnp.exe 100%25"].entries()) {
      const id = ["..", "a:b", "."][i], title = '<script>document.title="owned"</script>'.repeat(i === 0 ? 50 : 1);
      const at = iso(base + 60 * day + i * hour), shown = "/user?" + new URLSearchParams({ name: user, at });
      if (i === 0) {
        await page.goto(shown);
        await page.getByLabel("Title").fill(title);
        await page.getByLabel("Send time, UTC").fill(at.slice(0, 16));
        await page.locator("#t-id").fill(id);
        await page.getByRole("button", { name: "Submit" }).click();
        await page.getByText("Accepted. It will be sent at").waitFor();
      } else {
        assert.equal((await submit({ id, user, title, send_at: at })).status, 201);
      }
      await page.goto(shown);
      await page.getByRole("cell", { name: id, exact: true }).getByRole("link").click();
      await page.getByRole("heading", { name: "Message " + id }).waitFor();
      await page.getByRole("link", { name: "Show the content" }).click();
      await page.getByText("<script>").first().waitFor();
      assert.equal(await page.evaluate(() => document.querySelectorAll("main script, main img").length), 0);
      assert.match(await page.title(), /^Message /);
      await (i === 0 ? accessible : fitting)(page, "a message to " + user);
      await page.getByRole("button", { name: "Cancel the message" }).click();
      await page.getByRole("button", { name: "Cancel it" }).click();
      await page.getByText("The message was cancelled").waitFor();
    }
    quiet(page);
  },

  async "the reference has examples to copy, and is searched"(browser) {
    const page = await walk(browser, plan.keys.admin);
    await page.goto("/docs");
    const height = await page.evaluate(() => document.documentElement.scrollHeight);
    assert.ok(height < 8000, "the reference is " + height + " pixels long");
    await page.keyboard.press("/");
    await page.keyboard.type("cancel campaign");
    await page.locator("#cancelCampaign").waitFor();
    assert.equal(await page.locator("#submitMessage").isVisible(), false);
    await page.goto("/docs#submitMessage");
    await page.locator("#submitMessage .curl").first().waitFor();
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"], { origin: new URL(plan.url).origin });
    await page.locator("#submitMessage .copy").first().click();
    assert.match(await page.evaluate(() => navigator.clipboard.readText()), /^curl /);
    quiet(page);
  },

  async "all sending is stopped and started, in sight of everybody"(browser) {
    const page = await walk(browser, plan.keys.admin), other = await open(browser, plan.keys.admin), tenant = await open(browser, plan.keys.read);
    await other.goto("/");
    await page.goto("/");
    await page.getByText("Stop all sending").first().click();
    await page.getByLabel("Reason").fill("<b>wrong</b> text");
    await page.getByRole("button", { name: "Stop all sending" }).click();
    const banner = "by account " + plan.operator + ": <b>wrong</b> text";
    await page.getByText(banner).waitFor();
    await other.getByText(banner).waitFor(); // it was open before
    await page.goto("/users");
    await accessible(page, "a page while all sending is stopped");
    await tenant.goto("/messages");
    await tenant.getByText("All sending is stopped").waitFor();
    assert.equal(await tenant.getByText("wrong").count(), 0, "an account does not see why");
    assert.equal(await tenant.getByRole("button", { name: "Start sending" }).count(), 0);
    await page.getByRole("button", { name: "Start sending" }).click();
    await page.getByText("Start sending again?").waitFor();
    await page.locator("form.card").getByRole("button", { name: "Start sending" }).click();
    await page.getByText("Sending goes on. Workers").waitFor();
    await other.getByText("All sending is stopped").waitFor({ state: "detached" });
    quiet(page);
    await other.context().close();
    await tenant.context().close();
  },

  // Of the pages that the README and the docs show.
  async "screenshots"(browser) {
    if (!plan.screenshots) return;
    mkdirSync(plan.screenshots, { recursive: true });
    for (const [name, path, colorScheme] of [["overview", "/", "light"], ["timeline", "/user?" + new URLSearchParams({ name: plan.user, at: iso(Date.parse(plan.at) + 2 * hour), span: "6h" }), "dark"]]) {
      const page = await open(browser, plan.keys.admin, { colorScheme, viewport: { width: 1200, height: 720 } });
      await page.goto(path);
      await page.waitForTimeout(1500);
      await page.screenshot({ path: plan.screenshots + "/" + name + ".png" });
      await page.context().close();
    }
  },
};
