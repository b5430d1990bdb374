package main

import "time"

// An observer shows in Redis what one worker runs: the first change at once, then the latest state once in a while.
type observer struct {
	pool    *pool
	key     string
	news    chan func()
	flushes chan chan struct{}
	stops   chan struct{}

	job       *Job // nil: idle
	startedAt int64
	args      string
	note      string
	noteAt    int64
	version   int64
	written   int64
}

func newObserver(of *pool, worker string) *observer {
	return &observer{
		pool: of, key: of.ns.worker(worker),
		news: make(chan func(), 1024), flushes: make(chan chan struct{}), stops: make(chan struct{}),
	}
}

func (o *observer) started(job *Job) {
	args, at := "", now()
	if job.Args != nil {
		args, _ = encode(job.Args)
	}
	o.news <- func() { o.job, o.startedAt, o.args, o.note, o.noteAt = job, at, args, "", 0 }
}

func (o *observer) done(job *Job) {
	o.news <- func() { o.job = nil }
}

func (o *observer) checkin(note string) {
	at := now()
	o.news <- func() { o.note, o.noteAt = note, at }
}

// flush writes the state now.
func (o *observer) flush() {
	done := make(chan struct{})
	o.flushes <- done
	<-done
}

func (o *observer) stop() { close(o.stops) }

func (o *observer) loop() {
	tick := time.NewTicker(o.pool.timers.observe)
	defer tick.Stop()
	for {
		select {
		case <-o.stops:
			return
		case change := <-o.news:
			o.apply(change)
		case <-tick.C:
			if o.written != o.version {
				o.write()
			}
		case done := <-o.flushes:
			for len(o.news) > 0 {
				o.apply(<-o.news)
			}
			o.write()
			close(done)
		}
	}
}

func (o *observer) apply(change func()) {
	change()
	o.version++
	if o.version == 1 {
		o.write()
	}
}

func (o *observer) write() {
	o.written = o.version
	if o.job == nil {
		_, err := o.pool.server.do("DEL", o.key)
		o.pool.report("observer.write", err)
		return
	}
	fields := words("HMSET", o.key,
		"job_name", o.job.Name, "job_id", o.job.ID, "started_at", o.startedAt, "args", o.args)
	if o.note != "" && o.noteAt > 0 {
		fields = append(fields, "checkin", o.note, "checkin_at", o.noteAt)
	}
	_, err := o.pool.server.send(fields, words("EXPIRE", o.key, 86400))
	o.pool.report("observer.write", err)
}
