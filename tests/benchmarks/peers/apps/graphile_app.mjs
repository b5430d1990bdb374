// Graphile Worker: `node graphile_app.mjs worker` or `... producer`. The same contract as proof.py and producing.py.
import { createRequire } from "node:module";
import { join } from "node:path";
import { produce, working } from "./node.mjs";

const require = createRequire(join(process.env.BENCH_MODULES, "x.js"));
const { Logger, makeWorkerUtils, run } = require("graphile-worker");
const connectionString = process.env.BENCH_SERVER;
const logger = new Logger(() => () => {}); // else a line is printed for each job

if (process.argv[2] === "worker") {
  const { ran, told } = working();
  const f = async ({ n }) => ran(n);
  const taskList = { f0: f, f1: f, f2: f, f3: f, f4: f, told: async () => told() };
  const concurrentJobs = Number(process.env.BENCH_CONCURRENCY);
  const size = Number(process.env.BENCH_GRAPHILE_QUEUE ?? 0);
  const batches = size ? { localQueue: { size }, completeJobBatchDelay: 0, failJobBatchDelay: 0 } : {};
  const preset = { worker: { connectionString, concurrentJobs, maxPoolSize: concurrentJobs + 2, ...batches } };
  await run({ preset, taskList, logger });
} else {
  const utils = await makeWorkerUtils({ connectionString, logger });
  await utils.migrate();
  await produce({
    many: (numbers) => utils.addJobs(numbers.map((n) => ({ identifier: `f${n % 5}`, payload: { n } }))),
    one: (n) => utils.addJob("f0", { n }),
    later: (n, due) => utils.addJob("f0", { n }, { runAt: new Date(due * 1000) }),
    tell: () => utils.addJob("told", {}),
  });
}
