// A side of the comparison, whose product is in product.js. This is the frame: it speaks the lines of
// JSON that bench/peers/side describes.
import { openSync, readFileSync, writeFileSync, writeSync } from 'node:fs';
import { performance } from 'node:perf_hooks';
import { createInterface } from 'node:readline';
import * as product from './product.js';

let submitted = 0, delivered = 0;

const print = (reply) => process.stdout.write(JSON.stringify(reply) + '\n');

async function start({ role, store, deliveries }) {
  const file = role === 'work' ? openSync(deliveries, 'a') : undefined;
  const settings = await product.open(store, file && ((id) => {
    const now = Math.round((performance.timeOrigin + performance.now()) * 1000);
    writeSync(file, `${id},${now}\n`);
    delivered++;
  }));
  const version = (module) => JSON.parse(readFileSync(
    new URL(`node_modules/${module}/package.json`, import.meta.url))).version;
  const modules = ['bullmq', 'rate-limiter-flexible', 'ioredis'].map((module) => `${module} ${version(module)}`);
  return { settings: `${modules.join(', ')}, Node.js ${process.versions.node}; ${settings}` };
}

// callerOf spreads users over the callers, so that a user's messages keep their order.
function callerOf(user, callers) {
  let hash = 2166136261;
  for (const c of user) hash = Math.imul(hash ^ c.codePointAt(0), 16777619) >>> 0;
  return hash % callers;
}

async function submit({ work, results, callers }) {
  const messages = readFileSync(work, 'utf8').trimEnd().split('\n').map((line) => {
    const [id, user, at] = line.split(',');
    return { id, user, at: Number(at) };
  });
  const turns = Array.from({ length: callers }, () => []);
  messages.forEach((message, i) => turns[callerOf(message.user, callers)].push(i));
  const lines = new Array(messages.length);
  let failed;
  const began = performance.now();
  await Promise.all(turns.map(async (turn) => {
    for (const i of turn) {
      const at = performance.now();
      let answer = 'e';
      try {
        answer = await product.submit(messages[i]) ? 'a' : 'r';
      } catch (err) {
        failed ??= err;
      }
      lines[i] = `${answer},${Math.round((performance.now() - at) * 1000)}\n`;
      submitted++;
    }
  }));
  const seconds = (performance.now() - began) / 1000;
  writeFileSync(results, lines.join(''));
  if (failed) throw failed;
  return { seconds };
}

async function status() {
  return { pending: await product.pending() };
}

async function stop() {
  await product.close();
  return {};
}

const counting = setInterval(() => print({ op: 'counters', submitted, delivered }), 1000);
const operations = { start, submit, status, stop };
for await (const line of createInterface({ input: process.stdin })) {
  const request = JSON.parse(line);
  try {
    print({ op: request.op, ...await operations[request.op](request) });
  } catch (err) {
    print({ op: request.op, error: String(err) });
  }
  if (request.op === 'stop') break;
}
clearInterval(counting);
process.exit(0);
