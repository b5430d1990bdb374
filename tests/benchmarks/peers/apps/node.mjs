// What proof.py and producing.py are for the apps in Python.
import { createInterface } from "node:readline";
import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export const time = () => (performance.timeOrigin + performance.now()) / 1000; // Date.now() has no parts of a millisecond
const pause = (seconds) => new Promise((done) => setTimeout(done, seconds * 1000));
const spent = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
};

export function working() {
  const folder = process.env.BENCH_FOLDER;
  const marks = new Set(process.env.BENCH_MARKS.split(",").map(Number));
  const rest = Number(process.env.BENCH_PAUSE ?? 0);
  const seen = [];
  const write = (name, value) => {
    const partial = join(folder, `.${name}.${process.pid}`);
    writeFileSync(partial, JSON.stringify(value));
    renameSync(partial, join(folder, name));
  };
  const ran = (n) => {
    if (marks.has(seen.push([n, time()]))) write(`mark-${seen.length}`, [time(), spent()]);
    return rest ? pause(rest) : undefined;
  };
  return { ran, told: () => write("told", seen) };
}

// An app has `many(numbers)`, at most 1,000 of them; `one(n)`; `later(n, due)`, due in seconds since 1970; `tell()`.
export async function produce(app) {
  const many = async (first, jobs) => {
    for (let at = first; at < jobs; at += 1000) {
      await app.many(Array.from({ length: Math.min(1000, jobs - at) }, (_, n) => at + n));
    }
  };
  const timed = async (act) => {
    const [began, cpu] = [performance.now(), spent()];
    await act();
    return [(performance.now() - began) / 1000, spent() - cpu];
  };
  const verbs = {
    async add({ jobs, warm }) {
      await many(0, warm);
      return timed(() => many(warm, jobs));
    },
    async each({ first, jobs }) {
      return timed(async () => {
        for (let n = first; n < first + jobs; n += 1) await app.one(n);
      });
    },
    async now({ first, jobs, gap }) {
      const began = [];
      for (let n = first; n < first + jobs; n += 1) {
        const at = time();
        began.push([n, at]);
        await app.one(n);
        await pause(Math.max(0, at + gap * (2 / 3 + Math.random() * (2 / 3)) - time()));
      }
      return began;
    },
    async later({ first, dues }) {
      for (const [i, due] of dues.entries()) await app.later(first + i, due);
      return null;
    },
    async tell() {
      await app.tell();
      return null;
    },
  };
  for await (const line of createInterface({ input: process.stdin })) {
    const { do: verb, ...asked } = JSON.parse(line);
    console.log(JSON.stringify(await verbs[verb](asked)));
  }
  process.exit(0);
}
