package main

import (
	"fmt"
	"strconv"
	"time"
)

const (
	horizon = 240 * time.Second // runs are enqueued so far ahead
	recent  = 2                 // seconds; while the last enqueueing is not older, none is needed
)

// A periodicJob is a job name that is enqueued whenever its spec fires. It has no arguments.
type periodicJob struct {
	text string
	spec *spec
	name string
}

func newPeriodicJob(text, name string) (periodicJob, error) {
	read, err := parseSpec(text)
	return periodicJob{text, read, name}, err
}

func (p *pool) enqueuePeriodic() {
	last, err := p.server.do("GET", p.ns.lastPeriodic())
	if err != nil {
		p.report("periodic_enqueuer.should_enqueue", err)
		return
	}
	if last != nil {
		at, err := strconv.ParseInt(last.(string), 10, 64)
		if err != nil || at >= now()-recent {
			p.report("periodic_enqueuer.should_enqueue", err)
			return
		}
	}
	p.report("periodic_enqueuer.enqueue", p.enqueueRuns(time.Unix(now(), 0)))
}

func (p *pool) enqueueRuns(from time.Time) error {
	for _, each := range p.periodic {
		for at := each.spec.next(from); !at.IsZero() && at.Before(from.Add(horizon)); at = each.spec.next(at) {
			job := Job{
				Name: each.name, T: at.Unix(), ID: fmt.Sprintf("periodic:%s:%s:%d", each.name, each.text, at.Unix()),
			}
			text, err := job.text()
			if err != nil {
				return err
			}
			if _, err := p.server.do("ZADD", p.ns.scheduled(), at.Unix(), text); err != nil {
				return err
			}
		}
	}
	_, err := p.server.do("SET", p.ns.lastPeriodic(), from.Unix())
	return err
}
