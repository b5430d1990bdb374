package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// A call is one line that `peer drive` reads. Its members are those of the calls in spec/vectors/gocraft/.
type call struct {
	question
	NS          string          `json:"ns"`
	Name        string          `json:"name"`
	Args        string          `json:"args"`
	In          *int64          `json:"in"`
	Unique      bool            `json:"unique"`
	Key         string          `json:"key"`
	Concurrency int             `json:"concurrency"`
	Jobs        []drivenJob     `json:"jobs"`
	Periodic    [][2]string     `json:"periodic"` // spec, name
	Sleeps      []time.Duration `json:"sleep_backoffs"`
	Spec        string          `json:"spec"`
	Zone        string          `json:"zone"`
	From        int64           `json:"from"`
	Count       int             `json:"count"`
	At          float64         `json:"at"`
}

type drivenJob struct {
	Name           string `json:"name"`
	Priority       int64  `json:"priority"`
	MaxConcurrency int64  `json:"max_concurrency"`
	MaxFails       int64  `json:"max_fails"`
	SkipDead       bool   `json:"skip_dead"`
	Backoff        *int64 `json:"backoff"`
	Do             []deed `json:"do"`
}

// A driver does the calls of a scenario, one after another.
type driver struct {
	server    *server
	timers    timers
	gates     *gates
	pools     map[string]*pool
	enqueuers map[string]*enqueuer
}

// The mutex keeps the lines whole that handlers and the driver write.
var output sync.Mutex

func tell(what event) { say(what) }

func say(what interface{}) {
	text, err := json.Marshal(what)
	if err != nil {
		text = []byte(fmt.Sprintf(`{"error": %q}`, err))
	}
	output.Lock()
	defer output.Unlock()
	fmt.Fprintf(os.Stdout, "%s\n", text)
}

func drive(on *server, with timers, from io.Reader) error {
	d := &driver{
		on, with, &gates{each: map[string]chan struct{}{}}, map[string]*pool{}, map[string]*enqueuer{},
	}
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var asked call
		if err := json.Unmarshal(lines.Bytes(), &asked); err != nil {
			return err
		}
		say(d.answer(asked))
	}
	return lines.Err()
}

func (d *driver) answer(asked call) outcome {
	var returned interface{}
	var err error
	switch asked.Op {
	case "enqueue":
		returned, err = d.enqueue(asked)
	case "pool":
		err = d.makePool(asked)
	case "start":
		d.pools[asked.ID].start()
	case "stop":
		d.pools[asked.ID].stop()
	case "drain":
		d.pools[asked.ID].drain()
	case "open":
		close(d.gates.gate(asked.Name))
	case "clock":
		setClock(asked.At)
	case "next":
		returned, err = activations(asked)
	default:
		return (&client{d.server, newNamespace(asked.NS)}).answer(asked.question)
	}
	if err != nil {
		return outcome{Error: err.Error()}
	}
	return outcome{Returned: returned}
}

func (d *driver) enqueue(asked call) (interface{}, error) {
	if d.enqueuers[asked.NS] == nil {
		d.enqueuers[asked.NS] = newEnqueuer(d.server, newNamespace(asked.NS))
	}
	return add(d.enqueuers[asked.NS], asked.Name, asked.Args, asked.In, asked.Unique, asked.Key)
}

// add answers the job that it added with its due time, if it has one, and nil for a duplicate.
func add(to *enqueuer, name, argsText string, in *int64, unique bool, keyText string) (interface{}, error) {
	args, err := readArgs(argsText)
	if err != nil {
		return nil, err
	}
	key, err := readArgs(keyText)
	if err != nil {
		return nil, err
	}
	job, due, err := to.add(name, args, addition{in, unique, key})
	if err != nil || job == nil {
		return nil, err
	}
	if in == nil {
		return job, nil
	}
	return withScore(job, "run_at", due)
}

func withScore(job *Job, name string, score int64) (interface{}, error) {
	text, err := job.text()
	return json.RawMessage(fmt.Sprintf(`{%q:%d,%s`, name, score, text[1:])), err
}

func (d *driver) makePool(asked call) error {
	jobs := []*jobType{}
	for _, each := range asked.Jobs {
		jobs = append(jobs, &jobType{
			name: each.Name, priority: atLeastOne(each.Priority), maxConcurrency: each.MaxConcurrency,
			maxFails: each.MaxFails, skipDead: each.SkipDead, backoff: backoffOf(each.Backoff),
			handle: scripted(each.Do, d.gates),
		})
	}
	periodic := []periodicJob{}
	for _, pair := range asked.Periodic {
		each, err := newPeriodicJob(pair[0], pair[1])
		if err != nil {
			return err
		}
		periodic = append(periodic, each)
	}
	with := d.timers
	if asked.Sleeps != nil {
		with.sleeps = nil
		for _, each := range asked.Sleeps {
			with.sleeps = append(with.sleeps, each*time.Millisecond)
		}
	}
	d.pools[asked.ID] = newPool(d.server, newNamespace(asked.NS), asked.Concurrency, jobs, periodic, with, tell)
	return nil
}

func atLeastOne(priority int64) int64 {
	if priority < 1 {
		return 1
	}
	return priority
}

func backoffOf(seconds *int64) func(*Job) int64 {
	if seconds == nil {
		return defaultBackoff
	}
	return func(*Job) int64 { return *seconds }
}

// activations answers the next times at which a spec fires, in a process whose zone is the given one.
func activations(asked call) (interface{}, error) {
	zone, err := time.LoadLocation(asked.Zone)
	if err != nil {
		return nil, err
	}
	read, err := parseSpec(asked.Spec)
	if err != nil {
		return nil, err
	}
	if read.zone == time.Local {
		read.zone = zone
	}
	found := []int64{}
	at := time.Unix(asked.From, 0)
	for i := 0; i < asked.Count; i++ {
		if at = read.next(at); at.IsZero() {
			break
		}
		found = append(found, at.Unix())
	}
	return found, nil
}
