import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { Protocol } from "../src/protocol.js";

/** The folder of the vectors: by default beside this port's. */
const folder = process.env["VECTORS"] ?? fileURLToPath(new URL("../../../vectors/", import.meta.url));

interface LineOfJobs {
  node: string[];
  line: string[];
}

/** What counts of an answer: of a refusal its code, of a greeting the protocol, of lines their set. */
function compared(answer: unknown): unknown {
  if (Array.isArray(answer)) return answer.map(compared);
  const members = answer as {
    error?: { code: string };
    protocol?: number;
    children?: Record<string, string[]>;
    lines?: LineOfJobs[];
  };
  if (members.error) return members.error.code;
  if (members.protocol !== undefined) return members.protocol;
  if (members.children && members.lines) {
    const children = Object.entries(members.children).filter(([, runs]) => runs.length > 0);
    const node = ({ node }: LineOfJobs): string => JSON.stringify(node);
    const lines = members.lines.filter(({ line }) => line.length > 0);
    lines.sort((one, other) => (node(one) < node(other) ? -1 : 1));
    return { ...members, children: Object.fromEntries(children), lines };
  }
  return members;
}

test("the vectors are there", () => {
  assert(readdirSync(folder).some((name) => name.endsWith(".jsonl")), `no vectors in ${folder}`);
});

for (const name of readdirSync(folder).filter((name) => name.endsWith(".jsonl"))) {
  test(name, () => {
    const port = new Protocol();
    const lines = readFileSync(`${folder}/${name}`, "utf8").trimEnd().split("\n");
    lines.forEach((line, number) => {
      const { expect } = JSON.parse(line) as { expect: unknown };
      const answer: unknown = JSON.parse(port.answer(line));
      assert.deepEqual(compared(answer), compared(expect), `line ${number + 1}: ${line}`);
    });
  });
}
