// Lints OpenAPI documents with Redocly's recommended rules. Each finding is a line, and any
// finding is a failure, warnings too.
//
//     node lint.mjs openapi.json...
import { createConfig, lint } from "@redocly/openapi-core";

const config = await createConfig({ extends: ["recommended"] });
let failed = false;
for (const ref of process.argv.slice(2)) {
  for (const f of await lint({ ref, config })) {
    failed = true;
    console.log(`${ref}: ${f.severity} ${f.ruleId} at ${f.location[0]?.pointer}: ${f.message}`);
  }
}
process.exit(failed ? 1 : 0);
