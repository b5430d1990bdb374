package main

import (
	"fmt"
	"os"
	"sort"
	"strings"
	"sync"
	"time"
)

// A jobType is a job name that a pool serves, with its options.
type jobType struct {
	name           string
	priority       int64
	maxConcurrency int64
	maxFails       int64
	skipDead       bool
	backoff        func(*Job) int64 // seconds
	handle         func(*run) error
}

// The timers of a pool. Tests shorten them.
type timers struct {
	heartbeat time.Duration
	requeue   time.Duration
	deadAfter time.Duration // a heartbeat of this age is one of a dead pool; the reaper first looks after as long
	reap      time.Duration
	jitter    int64 // seconds, at random, on reap and periodic
	periodic  time.Duration
	observe   time.Duration
	sleeps    []time.Duration // by count of fetches in a row that found nothing
}

func documentedTimers() timers {
	return timers{
		heartbeat: 5 * time.Second,
		requeue:   time.Second,
		deadAfter: 10 * time.Second,
		reap:      10 * time.Minute,
		jitter:    30,
		periodic:  2 * time.Minute,
		observe:   time.Second,
		sleeps:    []time.Duration{0, 10 * time.Millisecond, 100 * time.Millisecond, time.Second, 5 * time.Second},
	}
}

// A pool serves a namespace with some workers.
type pool struct {
	server    *server
	ns        namespace
	id        string
	jobs      map[string]*jobType
	names     []string            // sorted
	fetched   map[string][]string // the keys that the script for a fetch wants of each name
	periodic  []periodicJob
	timers    timers
	tell      func(event)
	startedAt int64
	workers   []*worker
	stopping  chan struct{}
	rest      sync.WaitGroup
}

// An event is one line of what a peer reports.
type event map[string]interface{}

func newPool(on *server, ns namespace, concurrency int, jobs []*jobType, periodic []periodicJob, with timers, tell func(event)) *pool {
	p := &pool{
		server: on, ns: ns, id: newID(), jobs: map[string]*jobType{}, fetched: map[string][]string{}, periodic: periodic, timers: with, tell: tell,
		stopping: make(chan struct{}),
	}
	for _, job := range jobs {
		p.jobs[job.name] = job
		p.names = append(p.names, job.name)
		p.fetched[job.name] = []string{
			ns.queue(job.name), ns.inProgress(job.name, p.id), ns.paused(job.name), ns.lock(job.name),
			ns.lockInfo(job.name), ns.limit(job.name),
		}
	}
	sort.Strings(p.names)
	for i := 0; i < concurrency; i++ {
		p.workers = append(p.workers, newWorker(p))
	}
	return p
}

func (p *pool) report(where string, err error) {
	if err != nil {
		p.tell(event{"log": fmt.Sprintf("ERROR: %s - %v", where, err)})
	}
}

func (p *pool) start() {
	p.startedAt = now()
	for _, job := range p.jobs {
		_, err := p.server.do("SET", p.ns.limit(job.name), job.maxConcurrency)
		p.report("write_concurrency_controls", err)
	}
	if len(p.names) > 0 {
		known := words("SADD", p.ns.knownJobs())
		for _, name := range p.names {
			known = append(known, name)
		}
		_, err := p.server.do(known...)
		p.report("write_known_jobs", err)
	}
	for _, each := range p.workers {
		each.start()
	}
	p.background(func() { p.every(0, p.timers.heartbeat, 0, p.beat) })
	p.background(func() { p.every(p.timers.requeue, p.timers.requeue, 0, p.requeue) })
	p.background(func() { p.every(p.timers.deadAfter, p.timers.reap, p.timers.jitter, p.reap) })
	p.background(func() { p.every(0, p.timers.periodic, p.timers.jitter, p.enqueuePeriodic) })
}

func (p *pool) background(loop func()) {
	p.rest.Add(1)
	go func() {
		defer p.rest.Done()
		loop()
	}()
}

// every calls `act` after a first pause, and then again and again, until the pool stops.
func (p *pool) every(first, pause time.Duration, jitter int64, act func()) {
	next := time.NewTimer(first)
	defer next.Stop()
	for {
		select {
		case <-p.stopping:
			return
		case <-next.C:
			wait := pause
			if jitter > 0 {
				wait += time.Duration(random(jitter)) * time.Second
			}
			next.Reset(wait)
			act()
		}
	}
}

// drain waits until each worker has found nothing to do.
func (p *pool) drain() {
	var all sync.WaitGroup
	for _, each := range p.workers {
		all.Add(1)
		go func(w *worker) {
			defer all.Done()
			w.drain()
		}(each)
	}
	all.Wait()
}

// stop waits for running handlers without a limit, and removes the pool from the namespace.
func (p *pool) stop() {
	var all sync.WaitGroup
	for _, each := range p.workers {
		all.Add(1)
		go func(w *worker) {
			defer all.Done()
			w.stop()
		}(each)
	}
	all.Wait()
	close(p.stopping)
	p.rest.Wait()
	_, err := p.server.send(words("SREM", p.ns.pools(), p.id), words("DEL", p.ns.heartbeat(p.id)))
	p.report("heartbeat.remove", err)
}

func (p *pool) beat() {
	ids := []string{}
	for _, each := range p.workers {
		ids = append(ids, each.id)
	}
	sort.Strings(ids)
	host, _ := os.Hostname()
	_, err := p.server.send(
		words("SADD", p.ns.pools(), p.id),
		words("HMSET", p.ns.heartbeat(p.id),
			"heartbeat_at", now(),
			"started_at", p.startedAt,
			"job_names", strings.Join(p.names, ","),
			"concurrency", len(p.workers),
			"worker_ids", strings.Join(ids, ","),
			"host", host,
			"pid", os.Getpid()),
	)
	p.report("heartbeat", err)
}

// requeue moves what is due, first of the retries, then of the scheduled jobs, to the queues of the names served here.
// What another pool serves is buried.
func (p *pool) requeue() {
	for _, set := range []string{p.ns.retry(), p.ns.scheduled()} {
		keys := p.ns.queues(p.names, set, p.ns.dead())
		for {
			answer, err := moveDueScript.run(p.server, keys, p.ns.queuePrefix(), now())
			p.report("requeuer.process", err)
			if answer == "dead" {
				p.report("requeuer.process.dead", fmt.Errorf("no job name"))
			}
			if err != nil || answer == nil {
				break
			}
		}
	}
}
