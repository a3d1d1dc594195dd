#!/usr/bin/env node
/** The adapter: speaks the port protocol (ports/PROTOCOL.md) on standard input and output. */
import { FAULTS } from "./faults.js";
import { Pool } from "./pool.js";
import { Protocol } from "./protocol.js";

/** The lines of a stream. Only a line feed ends one, while `readline` would also split at other separators. */
async function* linesOf(stream: NodeJS.ReadStream): AsyncGenerator<string, void> {
  stream.setEncoding("utf8");
  let rest = "";
  for await (const chunk of stream) {
    const lines = (rest + String(chunk)).split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
  if (rest) yield rest;
}

const fault = process.env["SLOTLENDING_FAULT"];
const PoolClass = fault === undefined ? Pool : FAULTS[fault];
if (!PoolClass) throw new Error(`no fault ${fault}`);
const port = new Protocol(PoolClass);
for await (const line of linesOf(process.stdin)) process.stdout.write(`${port.answer(line)}\n`);
