package main

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// A run is one execution of a job.
type run struct {
	job     *Job
	pool    *pool
	checkin func(string)
}

// Gates hold handlers until they are opened.
type gates struct {
	mutex sync.Mutex
	each  map[string]chan struct{}
}

func (g *gates) gate(name string) chan struct{} {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	if g.each[name] == nil {
		g.each[name] = make(chan struct{})
	}
	return g.each[name]
}

// A deed is one thing that the handler of a script does.
type deed struct {
	Block   string `json:"block"`   // wait for this gate
	Sleep   int64  `json:"sleep"`   // ms
	Checkin string `json:"checkin"` // report this
	Fail    string `json:"fail"`    // return this error
	FailN   int64  `json:"failn"`   // but only the first so many times
	Panic   string `json:"panic"`
}

// scripted answers a handler that does all deeds in turn, and reports when it begins and ends.
func scripted(deeds []deed, at *gates) func(*run) error {
	return func(r *run) error {
		r.pool.tell(event{"event": "run", "job": r.job})
		defer r.pool.tell(event{"event": "end", "id": r.job.ID})
		for _, each := range deeds {
			if each.Block != "" {
				<-at.gate(each.Block)
			}
			time.Sleep(time.Duration(each.Sleep) * time.Millisecond)
			if each.Checkin != "" {
				r.checkin(each.Checkin)
			}
			if each.Panic != "" {
				panic(each.Panic)
			}
			if each.Fail != "" && (each.FailN == 0 || r.job.Fails < each.FailN) {
				return fmt.Errorf("%s", each.Fail)
			}
		}
		return nil
	}
}

// A tally counts runs and adds up the numbers `n` of their arguments.
type tally struct{ ran, sum int64 }

func (t *tally) handle(r *run) error {
	n, _ := r.job.Args["n"].(float64)
	atomic.AddInt64(&t.ran, 1)
	atomic.AddInt64(&t.sum, int64(n))
	return nil
}

// asArgsSay answers a handler that appends a line to the file, if any, when it begins and when it ends. These members of the
// arguments steer it: sleep_ms, checkin, fail (fail_n: only the first so many times), panic.
func asArgsSay(file *os.File) func(*run) error {
	return func(r *run) error {
		began := time.Now()
		line := func(what string) {
			if file == nil {
				return
			}
			text, _ := encode(event{
				"event": what, "name": r.job.Name, "id": r.job.ID, "args": r.job.Args, "fails": r.job.Fails,
				"pool": r.pool.id, "at_ms": time.Now().UnixMilli(),
			})
			fmt.Fprintln(file, text)
		}
		line("run")
		if note, is := r.job.Args["checkin"].(string); is {
			r.checkin(note)
		}
		if pause, is := r.job.Args["sleep_ms"].(float64); is {
			time.Sleep(time.Until(began.Add(time.Duration(pause * float64(time.Millisecond)))))
		}
		line("end")
		if text, is := r.job.Args["panic"].(string); is {
			panic(text)
		}
		most, isBounded := r.job.Args["fail_n"].(float64)
		if text, is := r.job.Args["fail"].(string); is && (!isBounded || r.job.Fails < int64(most)) {
			return fmt.Errorf("%s", text)
		}
		return nil
	}
}

// defaultBackoff is the pause before the next attempt, in seconds.
func defaultBackoff(job *Job) int64 {
	fails := job.Fails
	return fails*fails*fails*fails + 15 + random(30)*(fails+1)
}
