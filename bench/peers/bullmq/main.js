// A side of the comparison: BullMQ with three limiters of rate-limiter-flexible in front of it. It speaks
// the lines of JSON that bench/peers/side describes.
import { once } from 'node:events';
import { openSync, readFileSync, writeFileSync, writeSync } from 'node:fs';
import { performance } from 'node:perf_hooks';
import { createInterface } from 'node:readline';
import { Queue, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { RateLimiterRedis } from 'rate-limiter-flexible';

const title = 'Your order is on its way';
const body =
  'It left our warehouse this morning and should arrive at your door tomorrow before noon, please ' +
  'keep the phone with you. Thanks';
const name = 'push';
// Tuned: by default a worker runs one job at a time.
const concurrency = 100;
// Defaults of BullMQ are 30 s each, and one stall is allowed.
const lockDuration = 10_000;
const stalledInterval = 5_000;
const maxStalledCount = 5;

const hour = 3600;
let queue, worker, redis, limiters;
let submitted = 0, delivered = 0;

const print = (reply) => process.stdout.write(JSON.stringify(reply) + '\n');

async function start({ role, store, deliveries }) {
  // A queue fails fast, a worker waits for the store for as long as it takes.
  redis = new Redis(store, { maxRetriesPerRequest: role === 'work' ? null : 20, enableAutoPipelining: role === 'submit' });
  redis.on('error', () => {}); // ioredis connects again; a command that fails says so
  if (redis.status !== 'ready') await once(redis, 'ready');
  queue = new Queue(name, { connection: redis, defaultJobOptions: { removeOnComplete: true, attempts: 25 } });
  queue.on('error', () => {});
  limiters = [[1, 60], [5, hour], [10, 24 * hour]].map(([points, duration]) =>
    new RateLimiterRedis({ storeClient: redis, keyPrefix: 'limit' + duration, points, duration }));
  if (role === 'work') {
    const file = openSync(deliveries, 'a');
    worker = new Worker(name, async (job) => {
      const now = Math.round((performance.timeOrigin + performance.now()) * 1000);
      writeSync(file, `${job.id},${now}\n`);
      delivered++;
    }, { connection: redis, concurrency, lockDuration, stalledInterval, maxStalledCount });
    worker.on('error', () => {});
    await worker.waitUntilReady();
  }
  const version = (module) => JSON.parse(readFileSync(
    new URL(`node_modules/${module}/package.json`, import.meta.url))).version;
  const modules = ['bullmq', 'rate-limiter-flexible', 'ioredis'].map((module) => `${module} ${version(module)}`);
  return { settings: `${modules.join(', ')}, Node.js ${process.versions.node}; automatic pipelines, concurrency ${concurrency}, ` +
    `lock ${lockDuration / 1000} s, stalled jobs every ${stalledInterval / 1000} s` };
}

// take asks the three limiters in turn. They count at the time of the call.
async function take(user) {
  for (const limiter of limiters) {
    try {
      await limiter.consume(user);
    } catch (err) {
      if (err instanceof Error) throw err;
      return false; // the limiter's answer to a call too many
    }
  }
  return true;
}

async function submitOne({ id, user, at }) {
  if (!await take(user)) return 'r';
  await queue.add(name, { user, title, body }, { jobId: id, delay: Math.max(0, at - Date.now()) });
  return 'a';
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
        answer = await submitOne(messages[i]);
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
  const counts = await queue.getJobCounts('wait', 'delayed', 'active', 'prioritized');
  return { pending: Object.values(counts).reduce((sum, n) => sum + n, 0) };
}

async function stop() {
  await worker?.close();
  await queue.close();
  redis.disconnect();
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
