// BullMQ: `node bullmq_app.mjs worker` or `... producer`. The same contract as proof.py and producing.py.
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const { Queue, Worker } = createRequire(join(process.env.BENCH_MODULES, "x.js"))("bullmq");
const { hostname: host, port } = new URL(process.env.BENCH_REDIS);
const connection = { host, port: Number(port), maxRetriesPerRequest: null };
const time = () => (performance.timeOrigin + performance.now()) / 1000; // Date.now() has no parts of a millisecond

function work() {
  const folder = process.env.BENCH_FOLDER;
  const marks = new Set(process.env.BENCH_MARKS.split(",").map(Number));
  const seen = [];
  const write = (name, value) => {
    const partial = join(folder, `.${name}.${process.pid}`);
    writeFileSync(partial, JSON.stringify(value));
    renameSync(partial, join(folder, name));
  };
  const ran = (n) => {
    if (marks.has(seen.push([n, time()]))) {
      const { user, system } = process.cpuUsage();
      write(`mark-${seen.length}`, [time(), (user + system) / 1e6]);
    }
  };
  const f0 = async (job) => ran(job.data.n);
  const f1 = async (job) => ran(job.data.n);
  const f2 = async (job) => ran(job.data.n);
  const f3 = async (job) => ran(job.data.n);
  const f4 = async (job) => ran(job.data.n);
  const told = async () => write("told", seen);
  const functions = { f0, f1, f2, f3, f4, told };
  const concurrency = Number(process.env.BENCH_BULLMQ_CONCURRENCY);
  new Worker("bench", (job) => functions[job.name](job), { connection, concurrency });
}

async function produce() {
  const defaultJobOptions = { removeOnComplete: true, removeOnFail: true };
  const queue = new Queue("bench", { connection, defaultJobOptions });
  await queue.waitUntilReady();
  const pause = (seconds) => new Promise((done) => setTimeout(done, seconds * 1000));
  const verbs = {
    async add({ jobs }) {
      const began = performance.now();
      for (let at = 0; at < jobs; at += 1000) {
        const rows = [];
        for (let n = at; n < Math.min(jobs, at + 1000); n += 1) rows.push({ name: `f${n % 5}`, data: { n } });
        await queue.addBulk(rows);
      }
      return (performance.now() - began) / 1000;
    },
    async now({ first, jobs, gap }) {
      const began = [];
      for (let n = first; n < first + jobs; n += 1) {
        const at = time();
        began.push([n, at]);
        await queue.add("f0", { n });
        await pause(Math.max(0, at + gap * (2 / 3 + Math.random() * (2 / 3)) - time()));
      }
      return began;
    },
    async later({ first, dues }) {
      for (const [i, due] of dues.entries()) {
        await queue.add("f0", { n: first + i }, { delay: Math.round((due - time()) * 1000) });
      }
      return null;
    },
    async tell() {
      await queue.add("told", {});
      return null;
    },
  };
  for await (const line of createInterface({ input: process.stdin })) {
    const { do: verb, ...asked } = JSON.parse(line);
    console.log(JSON.stringify(await verbs[verb](asked)));
  }
  process.exit(0);
}

if (process.argv[2] === "worker") work();
else await produce();
