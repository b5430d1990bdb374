"""The systems that are compared, each set up as its own guide says for many short jobs."""

from __future__ import annotations

from tests.benchmarks.peers.peer import Dues, Peer

BULLMQ_CONCURRENCY = 100  # where functions take no time
GRAPHILE_CONCURRENCY = 24

WORKKIT = Peer(
    name="workkit",
    app="workkit_app",
    worker=("python", "-m", "workkit", "listen", "bench", "-q", "--redis", "{server}"),
    jobs=100_000,
    short_jobs=50_000,
    dues=Dues.SECONDS,
    settings="defaults: 10 threads",
    acknowledges="after the job",
    packages=("redis", "hiredis", "msgpack"),
)
CELERY = Peer(
    name="celery",
    app="celery_app",
    worker=("celery", "-A", "celery_app", "worker", "-P", "threads", "-c", "10", "-l", "WARNING"),
    busy=("--prefetch-multiplier", "64"),
    jobs=5_000,
    short_jobs=2_000,
    dues=Dues.FRACTIONS,
    settings="10 threads, results ignored; rate with prefetch multiplier 64 (its guide on optimizing: short tasks)",
    acknowledges="before the job (its default)",
    packages=("celery", "kombu", "redis", "hiredis"),
)
RQ = Peer(
    name="rq",
    app="rq_app",
    worker=("rq", "worker", "--quiet", "-w", "rq.worker.SimpleWorker", "-u", "{server}"),
    idle=("--with-scheduler",),
    jobs=1_000,
    short_jobs=300,
    at_once=1,
    dues=Dues.SECONDS,
    settings="SimpleWorker, which its notes on performance name for short jobs: one job at a time, in the worker's own "
    "process; results kept 0 s; `--with-scheduler` only where scheduled jobs are measured",
    acknowledges="after the job",
    packages=("rq", "redis", "hiredis"),
)
DRAMATIQ = Peer(
    name="dramatiq",
    app="dramatiq_app",
    worker=("dramatiq", "dramatiq_app", "-p", "1", "-t", "10"),
    jobs=10_000,
    short_jobs=2_000,
    dues=Dues.FRACTIONS,
    settings="1 process, 10 threads, no results; rate with dramatiq_queue_prefetch=128 "
    "(its reference: environment variables)",
    busy_variables={"dramatiq_queue_prefetch": "128"},
    acknowledges="after the job",
    packages=("dramatiq", "redis", "hiredis"),
)
HUEY = Peer(
    name="huey",
    app="huey_app",
    worker=("huey_consumer", "huey_app.huey", "-k", "thread", "-w", "10", "-q"),
    jobs=10_000,
    short_jobs=2_000,
    dues=Dues.FRACTIONS,
    settings="10 threads, blocking RedisHuey, no results; scheduler every second (default)",
    acknowledges="never: popped before the job",
    packages=("huey", "redis", "hiredis"),
)
ARQ = Peer(
    name="arq",
    app="arq_app",
    worker=("arq", "--custom-log-dict", "arq_app.QUIET", "arq_app.WorkerSettings"),
    jobs=3_000,
    short_jobs=1_000,
    dues=Dues.FRACTIONS,
    settings="10 jobs at once, results kept 0 s, no log of jobs; rate with poll_delay 0.001 s, "
    "waiting with 0.5 s (default)",
    acknowledges="after the job",
    packages=("arq", "redis", "hiredis"),
    busy_variables={"BENCH_ARQ_POLL_DELAY": "0.001"},
)
SAQ = Peer(
    name="saq",
    app="saq_app",
    worker=("saq", "saq_app.settings"),
    jobs=5_000,
    short_jobs=1_500,
    dues=Dues.SECONDS,
    settings="10 jobs at once, jobs deleted when complete; scheduler every second (default)",
    acknowledges="after the job",
    packages=("saq", "redis", "hiredis"),
)
TASKIQ = Peer(
    name="taskiq",
    app="taskiq_app",
    worker=("taskiq", "worker", "-w", "1", "--max-async-tasks", "10", "--log-level", "WARNING", "taskiq_app:broker"),
    clock=("taskiq", "scheduler", "--update-interval", "1", "--log-level", "WARNING", "taskiq_app:scheduler"),
    jobs=5_000,
    short_jobs=1_500,
    dues=Dues.FRACTIONS,
    settings="1 process, 10 tasks at once, RedisStreamBroker (the one of its guide), no result backend; its scheduler "
    "process with --update-interval 1 (the default, 60 s, finds new schedules once a minute)",
    acknowledges="after the job",
    packages=("taskiq", "taskiq-redis", "redis", "hiredis"),
)
BULLMQ = Peer(
    name="bullmq",
    app="bullmq_app.mjs",
    worker=("node", "bullmq_app.mjs", "worker"),
    jobs=50_000,
    short_jobs=20_000,
    dues=Dues.FRACTIONS,
    settings=f"1 process, concurrency {BULLMQ_CONCURRENCY} (its guide has 50 in the example; 100 runs as many, 10 "
    "fewer), 10 where a job takes 10 ms; jobs removed when complete",
    acknowledges="after the job",
    packages=("bullmq", "ioredis"),
    variables={"BENCH_CONCURRENCY": str(BULLMQ_CONCURRENCY)},
    pausing_variables={"BENCH_CONCURRENCY": "10"},
    is_node=True,
)
GRAPHILE = Peer(
    name="graphile-worker",
    app="graphile_app.mjs",
    worker=("node", "graphile_app.mjs", "worker"),
    jobs=20_000,
    short_jobs=5_000,
    dues=Dues.FRACTIONS,
    settings=f"1 process on PostgreSQL without fsync, concurrency {GRAPHILE_CONCURRENCY} with a local queue of 500 and "
    "endings sent in batches (its page on performance), 10 and no local queue where a job takes 10 ms; poll every 2 s "
    "(default)",
    acknowledges="after the job",
    packages=("graphile-worker", "pg"),
    variables={"BENCH_CONCURRENCY": str(GRAPHILE_CONCURRENCY)},
    busy_variables={"BENCH_GRAPHILE_QUEUE": "500"},
    pausing_variables={"BENCH_CONCURRENCY": "10", "BENCH_GRAPHILE_QUEUE": "0"},
    is_node=True,
    is_on_postgres=True,
)

PEERS = (WORKKIT, BULLMQ, GRAPHILE, CELERY, RQ, DRAMATIQ, HUEY, ARQ, SAQ, TASKIQ)
