package main

import (
	"fmt"
	"time"
)

// A worker fetches and runs one job after another.
type worker struct {
	pool     *pool
	id       string
	observer *observer
	stops    chan chan struct{}
	drains   chan chan struct{}
}

func newWorker(of *pool) *worker {
	id := newID()
	return &worker{
		pool: of, id: id, observer: newObserver(of, id),
		stops: make(chan chan struct{}), drains: make(chan chan struct{}),
	}
}

func (w *worker) start() {
	go w.observer.loop()
	go w.loop()
}

func (w *worker) stop() {
	done := make(chan struct{})
	w.stops <- done
	<-done
	w.observer.flush()
	w.observer.stop()
}

func (w *worker) drain() {
	done := make(chan struct{})
	w.drains <- done
	<-done
	w.observer.flush()
}

func (w *worker) loop() {
	var drained chan struct{}
	empty := 0
	next := time.NewTimer(0)
	for {
		select {
		case done := <-w.stops:
			close(done)
			return
		case drained = <-w.drains:
			next.Reset(0)
		case <-next.C:
			job, err := w.fetch()
			switch {
			case err != nil:
				w.pool.report("worker.fetch", err)
				next.Reset(10 * time.Millisecond)
			case job != nil:
				w.process(job)
				empty = 0
				next.Reset(0)
			default:
				if drained != nil {
					close(drained)
					drained = nil
				}
				empty++
				next.Reset(w.pool.timers.pause(empty))
			}
		}
	}
}

func (t timers) pause(empty int) time.Duration {
	if empty >= len(t.sleeps) {
		empty = len(t.sleeps) - 1
	}
	return t.sleeps[empty]
}

func (w *worker) fetch() (*Job, error) {
	p := w.pool
	keys := make([]string, 0, 6*len(p.names))
	for _, name := range p.inTurn() {
		keys = append(keys, p.fetched[name]...)
	}
	answer, err := fetchScript.run(p.server, keys, p.id)
	if err != nil || answer == nil {
		return nil, err
	}
	found := texts(answer)
	job, err := readJob(found[0])
	if err != nil {
		return nil, err // the text stays in progress and keeps its lock
	}
	job.running = found[2]
	return job, nil
}

// inTurn orders the names at random, each place weighted by the priorities of the names that are left.
func (p *pool) inTurn() []string {
	left := append([]string{}, p.names...)
	turn := []string{}
	for len(left) > 0 {
		sum := int64(0)
		for _, name := range left {
			sum += p.jobs[name].priority
		}
		mark := random(sum)
		for i, name := range left {
			if mark -= p.jobs[name].priority; mark < 0 {
				turn = append(turn, name)
				left = append(left[:i], left[i+1:]...)
				break
			}
		}
	}
	return turn
}

func (w *worker) process(job *Job) {
	p := w.pool
	if job.Unique {
		job = w.takeUnique(job)
	}
	kind := p.jobs[job.Name]
	if kind == nil {
		err := fmt.Errorf("stray job: no handler")
		p.report("process_job.stray", err)
		job.Fails++
		job.Err, job.FailedAt = err.Error(), now()
		w.finish(job, w.into(p.ns.dead(), now(), job))
		return
	}
	w.observer.started(job)
	err := w.handle(kind, job)
	w.observer.done(job)
	if err == nil {
		w.finish(job, nil)
		return
	}
	limit := kind.maxFails
	if limit == 0 {
		limit = 4
	}
	job.Fails++
	job.Err, job.FailedAt = err.Error(), now()
	switch {
	case limit-job.Fails > 0:
		w.finish(job, w.into(p.ns.retry(), now()+kind.backoff(job), job))
	case kind.skipDead:
		w.finish(job, nil)
	default:
		w.finish(job, w.into(p.ns.dead(), now(), job))
	}
}

// takeUnique ends the uniqueness of the job, and answers the job that its key holds, if it holds one: that runs in place
// of what the list has.
func (w *worker) takeUnique(job *Job) *Job {
	p := w.pool
	key := job.UniqueKey
	if key == "" {
		var err error
		if key, err = p.ns.uniqueKey(job.Name, job.Args); err != nil {
			p.report("worker.delete_unique_job.key", err)
			return job
		}
	}
	held, err := p.server.do("GET", key)
	if err == nil && held == nil {
		err = fmt.Errorf("redigo: nil returned")
	}
	if err != nil {
		p.report("worker.delete_unique_job.get", err)
		return job
	}
	_, err = p.server.do("DEL", key)
	p.report("worker.delete_unique_job.del", err)
	if held == "1" {
		return job
	}
	newer, err := readJob(held.(string))
	if err != nil {
		p.report("worker.delete_unique_job.updated_job", err)
		return job
	}
	newer.running = job.running
	return newer
}

func (w *worker) handle(kind *jobType, job *Job) (err error) {
	defer func() {
		if panicked := recover(); panicked != nil {
			err = fmt.Errorf("%v", panicked)
			w.pool.report("runJob.panic", err)
		}
	}()
	return kind.handle(&run{job: job, pool: w.pool, checkin: w.observer.checkin})
}

// into answers the command that puts the job into a sorted set.
func (w *worker) into(set string, score int64, job *Job) []interface{} {
	text, err := job.text()
	if err != nil {
		w.pool.report("worker.add_to_set.marshal", err)
		return nil
	}
	return words("ZADD", set, score, text)
}

// finish takes the job out of progress. The locks are those of its own name, whatever queue it came from.
func (w *worker) finish(job *Job, also []interface{}) {
	ns := w.pool.ns
	commands := [][]interface{}{
		words("LREM", job.running, 1, job.raw),
		words("DECR", ns.lock(job.Name)),
		words("HINCRBY", ns.lockInfo(job.Name), w.pool.id, -1),
	}
	if also != nil {
		commands = append(commands, also)
	}
	w.pool.report("worker.finish", w.pool.server.transaction(commands...))
}
