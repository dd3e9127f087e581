// Lints OpenAPI documents with the recommended rules of Redocly and Spectral. Each finding
// is a line, and any finding is a failure, hints too.
//
//     node lint.mjs openapi.json...
import { readFileSync } from "node:fs";
import { createConfig, lint } from "@redocly/openapi-core";
import core from "@stoplight/spectral-core";
import parsers from "@stoplight/spectral-parsers";
import rulesets from "@stoplight/spectral-rulesets";

const config = await createConfig({ extends: ["recommended"] });
const spectral = new core.Spectral();
spectral.setRuleset({ extends: [rulesets.oas] });
let failed = false;
const tell = (...words) => {
  failed = true;
  console.log(...words);
};
for (const ref of process.argv.slice(2)) {
  for (const f of await lint({ ref, config })) tell(`${ref}: ${f.severity} ${f.ruleId} at ${f.location[0]?.pointer}: ${f.message}`);
  for (const f of await spectral.run(new core.Document(readFileSync(ref, "utf8"), parsers.Json, ref))) tell(`${ref}: ${f.code} at ${f.path.join("/")}: ${f.message}`);
}
process.exit(failed ? 1 : 0);
