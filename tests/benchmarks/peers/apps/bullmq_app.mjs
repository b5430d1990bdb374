// BullMQ: `node bullmq_app.mjs worker` or `... producer`. The same contract as proof.py and producing.py.
import { createRequire } from "node:module";
import { join } from "node:path";
import { produce, time, working } from "./node.mjs";

const { Queue, Worker } = createRequire(join(process.env.BENCH_MODULES, "x.js"))("bullmq");
const { hostname: host, port } = new URL(process.env.BENCH_SERVER);
const connection = { host, port: Number(port), maxRetriesPerRequest: null };

if (process.argv[2] === "worker") {
  const { ran, told } = working();
  const f0 = async (job) => ran(job.data.n);
  const f1 = async (job) => ran(job.data.n);
  const f2 = async (job) => ran(job.data.n);
  const f3 = async (job) => ran(job.data.n);
  const f4 = async (job) => ran(job.data.n);
  const functions = { f0, f1, f2, f3, f4, told: async () => told() };
  const concurrency = Number(process.env.BENCH_CONCURRENCY);
  new Worker("bench", (job) => functions[job.name](job), { connection, concurrency });
} else {
  const defaultJobOptions = { removeOnComplete: true, removeOnFail: true };
  const queue = new Queue("bench", { connection, defaultJobOptions });
  await queue.waitUntilReady();
  await produce({
    many: (numbers) => queue.addBulk(numbers.map((n) => ({ name: `f${n % 5}`, data: { n } }))),
    one: (n) => queue.add("f0", { n }),
    later: (n, due) => queue.add("f0", { n }, { delay: Math.round((due - time()) * 1000) }),
    tell: () => queue.add("told", {}),
  });
}
