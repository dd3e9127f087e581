import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { apiUrl } from "./server.js";

const folder = new URL("../../", import.meta.url);

test("the first example of the README works", () => {
  const readme = readFileSync(new URL("README.md", folder), "utf8");
  assert.equal(/```ts\n([^]*?)```/.exec(readme)?.[1], readFileSync(new URL("examples/refusal.ts", folder), "utf8"));

  const compiled = readFileSync(new URL("dist/examples/refusal.js", folder), "utf8");
  assert.ok(compiled.includes("http://127.0.0.1:8080"));
  const runs = new URL("dist/examples/runs.js", folder);
  writeFileSync(runs, compiled.replace("http://127.0.0.1:8080", apiUrl()));
  const lines = execFileSync(process.execPath, [fileURLToPath(runs)], { encoding: "utf8" }).trim().split("\n");
  assert.match(lines[0] ?? "", /^send_limit: alice already has a message at 11:11:11, within 1 minute; the next free time is 11:12:11$/);
  assert.match(lines[1] ?? "", /^accepted for \d{4}-\d\d-\d\dT11:12:11\.000Z$/);
});
