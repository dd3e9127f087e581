// BullMQ with three limiters of rate-limiter-flexible in front of it.
import { once } from 'node:events';
import { Queue, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { RateLimiterRedis, RateLimiterUnion } from 'rate-limiter-flexible';

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
let queue, worker, redis, limiter;

// open connects to a store. A worker gets deliver, which it calls once for each delivery; a submitter
// gets nothing.
export async function open(store, deliver) {
  // A queue fails fast, a worker waits for the store for as long as it takes.
  redis = new Redis(store, { maxRetriesPerRequest: deliver ? null : 20, enableAutoPipelining: !deliver });
  redis.on('error', () => {}); // ioredis connects again; a command that fails says so
  if (redis.status !== 'ready') await once(redis, 'ready');
  queue = new Queue(name, { connection: redis, defaultJobOptions: { removeOnComplete: true, attempts: 25 } });
  queue.on('error', () => {});
  // A union asks its limiters at the same time, so they cost one way to Redis.
  limiter = new RateLimiterUnion(...[[1, 60], [5, hour], [10, 24 * hour]].map(([points, duration]) =>
    new RateLimiterRedis({ storeClient: redis, keyPrefix: 'limit' + duration, points, duration })));
  if (deliver) {
    worker = new Worker(name, async (job) => deliver(job.id), { connection: redis, concurrency, lockDuration, stalledInterval, maxStalledCount });
    worker.on('error', () => {});
    await worker.waitUntilReady();
  }
  return `automatic pipelines, concurrency ${concurrency}, ` +
    `lock ${lockDuration / 1000} s, stalled jobs every ${stalledInterval / 1000} s`;
}

// take asks the three limiters. They count at the time of the call.
async function take(user) {
  try {
    await limiter.consume(user);
    return true;
  } catch (refusals) { // by limiter: an error, or the answer to a call too many
    const failed = Object.values(refusals).find((refusal) => refusal instanceof Error);
    if (failed) throw failed;
    return false;
  }
}

// submit schedules a message, and returns whether it was accepted.
export async function submit({ id, user, at }) {
  if (!await take(user)) return false;
  await queue.add(name, { user, title, body }, { jobId: id, delay: Math.max(0, at - Date.now()) });
  return true;
}

// pending returns how many accepted messages wait.
export async function pending() {
  const counts = await queue.getJobCounts('wait', 'delayed', 'active', 'prioritized');
  return Object.values(counts).reduce((sum, n) => sum + n, 0);
}

export async function close() {
  await worker?.close();
  await queue.close();
  redis.disconnect();
}
