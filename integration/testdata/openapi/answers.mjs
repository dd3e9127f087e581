// Validates recorded answers of the API against an OpenAPI document. Each line of the
// answers is {"name", "schema", "body"}; schema is a JSON pointer into the document.
//
//     node answers.mjs openapi.json answers.ndjson
import { readFileSync } from "node:fs";
import Ajv2020 from "ajv/dist/2020.js";
import addFormats from "ajv-formats";

const [documentFile, answersFile] = process.argv.slice(2);
const document = JSON.parse(readFileSync(documentFile, "utf8"));
const ajv = new Ajv2020({ allErrors: true, allowUnionTypes: true });
addFormats(ajv);
for (const word of Object.keys(document)) {
  ajv.addKeyword(word); // so that the document can be read as the schema around all schemas
}
ajv.addSchema(document, "openapi.json");

const lines = readFileSync(answersFile, "utf8").trimEnd().split("\n");
let wrong = 0;
for (const line of lines) {
  const { name, schema, body } = JSON.parse(line);
  const validate = ajv.getSchema("openapi.json#" + schema) ?? ajv.compile({ $ref: "openapi.json#" + schema });
  if (!validate(body)) {
    wrong++;
    console.log(`${name}: ${ajv.errorsText(validate.errors)}: ${JSON.stringify(body)}`);
  }
}
console.log(`${lines.length} answers, ${wrong} wrong`);
process.exit(wrong > 0 ? 1 : 0);
