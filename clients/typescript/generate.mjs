// Writes the types of the API's schemas: node generate.mjs SCHEMAS.json. "make clients" calls
// it with the schemas of the OpenAPI document, and saves what it prints as src/schemas.ts.
import { readFile } from "node:fs/promises";
import openapiTS, { astToString } from "openapi-typescript";
import ts from "typescript";

const { factory: make } = ts;
const text = make.createKeywordTypeNode(ts.SyntaxKind.StringKeyword);
const none = make.createLiteralTypeNode(make.createNull());

const document = JSON.parse(await readFile(process.argv[2], "utf8"));
const ast = await openapiTS(document, {
  rootTypes: true,
  rootTypesNoSchemaPrefix: true,
  defaultNonNullable: false,
  silent: true,
  inject: `export type Open<Words extends string> = Words | (string & {});`,
  transform(schema) {
    const types = [];
    if (schema["x-words"]) {
      const words = schema["x-words"].map((word) => make.createLiteralTypeNode(make.createStringLiteral(word)));
      types.push(make.createTypeReferenceNode("Open", [make.createUnionTypeNode(words)]));
    } else if (schema["x-time"]) {
      types.push(text, make.createTypeReferenceNode("Date"));
    } else {
      return undefined;
    }
    if (schema.type?.includes("null")) types.push(none);
    return make.createUnionTypeNode(types);
  },
});
// The document has only schemas; the types of its other parts are empty.
const types = astToString(ast).replace(/^export type [$\w]+ = Record<string, never>;\n/gm, "");
process.stdout.write('// Written by "make clients" from the OpenAPI document. Do not edit it.\n\n' + types);
