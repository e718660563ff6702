// A reader that knows nothing of this library but its published JSON Schemas. It reads JSON lines:
// a page of entries, a tool's artifact or an answer over MCP each, and writes one line for each:
// where to go, or what is wrong with it.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const [schemas, modules] = process.argv.slice(2);
const Ajv2020 = createRequire(`${modules}/`)("ajv/dist/2020.js");
const ajv = new Ajv2020({ strict: true, allErrors: true });
const formats = Object.fromEntries(
  ["entry", "artifact", "mcp"].map((name) => [
    name,
    ajv.compile(JSON.parse(readFileSync(`${schemas}/${name}.v1.json`, "utf8"))),
  ]),
);

const ROUTES = { read: "answer", fallback: "web", undecided: "judge" };

// The report of what was read: every entry of a page carries the same one.
function report({ format, value }) {
  return format === "entry" ? value[0] : value.recall;
}

function read(line) {
  const validate = formats[line.format];
  const values = line.format === "entry" ? line.value : [line.value];
  for (const value of values) {
    if (!validate(value)) {
      return { refused: validate.errors.map((e) => `${e.instancePath} ${e.message}`) };
    }
  }
  const { advice, confidence } = report(line);
  return { route: ROUTES[advice], level: confidence.level, results: values.length };
}

for await (const line of createInterface({ input: process.stdin })) {
  console.log(JSON.stringify(read(JSON.parse(line))));
}
