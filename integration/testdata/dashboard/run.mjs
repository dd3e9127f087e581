// Runs the stories in a real browser, and says of each how it went. It fails if one fails.
import { start } from "./browser.mjs";
import { stories } from "./stories.mjs";

const only = process.argv[2];
const browser = await start();
let failed = 0;
for (const [name, story] of Object.entries(stories)) {
  if (only && !name.includes(only)) continue;
  const began = Date.now();
  try {
    await story(browser);
    console.log("ok " + name + " (" + (Date.now() - began) + " ms)");
  } catch (error) {
    failed++;
    console.log("FAILED " + name + "\n" + error.stack);
    for (const context of browser.contexts()) {
      for (const page of context.pages()) console.log("at " + page.url() + "\n" + (await page.locator("body").innerText().catch(() => "")).replace(/\s+/g, " ").slice(0, 1200));
      await context.close();
    }
  }
}
await browser.close();
process.exit(failed ? 1 : 0);
