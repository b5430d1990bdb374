package main

import (
	"sync"
	"time"
)

const knownFor = 300 * time.Second // how long an enqueuer remembers that it announced a job name

// An enqueuer adds jobs to a namespace.
type enqueuer struct {
	server *server
	ns     namespace
	mutex  sync.Mutex
	known  map[string]time.Time
}

// An addition says how a job is added; the zero value is at once, and not unique.
type addition struct {
	in     *int64                 // seconds
	unique bool                   // by its arguments, or
	key    map[string]interface{} // by these
}

func newEnqueuer(on *server, ns namespace) *enqueuer {
	return &enqueuer{server: on, ns: ns, known: map[string]time.Time{}}
}

// add answers the job and its due time (0: at once), and nil for a duplicate.
func (e *enqueuer) add(name string, args map[string]interface{}, how addition) (*Job, int64, error) {
	job := &Job{Name: name, ID: newID(), T: now(), Args: args}
	due := int64(0)
	if how.in != nil {
		due = job.T + *how.in
	}
	if how.unique || how.key != nil {
		is, err := e.addUnique(job, due, how)
		if err != nil || !is {
			return nil, 0, err
		}
		return job, due, nil
	}
	text, err := job.text()
	if err != nil {
		return nil, 0, err
	}
	if how.in == nil {
		_, err = e.server.do("LPUSH", e.ns.queue(name), text)
	} else {
		_, err = e.server.do("ZADD", e.ns.scheduled(), due, text)
	}
	if err != nil {
		return nil, 0, err
	}
	return job, due, e.announce(name)
}

func (e *enqueuer) addUnique(job *Job, due int64, how addition) (bool, error) {
	content := job.Args
	if how.key != nil {
		content = how.key
	}
	key, err := e.ns.uniqueKey(job.Name, content)
	if err != nil {
		return false, err
	}
	job.Unique, job.UniqueKey = true, key
	text, err := job.text()
	if err != nil {
		return false, err
	}
	if err := e.announce(job.Name); err != nil {
		return false, err
	}
	value := "1"
	if how.key != nil {
		value = text
	}
	var answer reply
	if how.in == nil {
		answer, err = enqueueUniqueScript.run(e.server, []string{e.ns.queue(job.Name), key}, text, value)
	} else {
		answer, err = enqueueUniqueInScript.run(e.server, []string{e.ns.scheduled(), key}, text, value, due)
	}
	return answer == "ok", err
}

func (e *enqueuer) announce(name string) error {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	if time.Now().Before(e.known[name]) {
		return nil
	}
	if _, err := e.server.do("SADD", e.ns.knownJobs(), name); err != nil {
		return err
	}
	e.known[name] = time.Now().Add(knownFor)
	return nil
}
