// Lints an OpenAPI document with Redocly's recommended rules. Each finding is a line, and
// any finding is a failure, warnings too.
//
//     node lint.mjs openapi.json
import { createConfig, lint } from "@redocly/openapi-core";

const config = await createConfig({ extends: ["recommended"] });
const findings = await lint({ ref: process.argv[2], config });
for (const f of findings) {
  console.log(`${f.severity} ${f.ruleId} at ${f.location[0]?.pointer}: ${f.message}`);
}
process.exit(findings.length > 0 ? 1 : 0);
