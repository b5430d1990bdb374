// The peer is a Go program that shares a gocraft namespace with workkit. It is written from spec/layouts/gocraft.md and
// from what the real library was seen to do, with Go's standard library only, and it repeats the defects of that library.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const usage = `usage:
  peer pool NAMESPACE --jobs NAME:PRIORITY[:MAX_CONCURRENCY[:MAX_FAILS]],... [--concurrency N] [--log FILE]
            [--periodic 'SPEC=NAME']... [--skip-dead NAME,...] [--backoff SECONDS] [--count]
  peer enqueue NAMESPACE NAME [ARGS] [--in SECONDS] [--unique] [--key MAP] [--count N [--first N]]
  peer client NAMESPACE OPERATION [--page N] [--score N] [--id ID]
  peer drive       does the calls of a recording, which it reads as JSON lines
all: --redis HOST:PORT --db N; pool and drive: --heartbeat --requeue --dead-after --reap --periodic-every --observe DURATION,
--sleeps MS,...`

type command struct {
	flags  *flag.FlagSet
	server *server
	timers timers
	words  []string
}

func main() {
	if len(os.Args) < 2 {
		fail(fmt.Errorf("%s", usage))
	}
	verbs := map[string]func(*command, []string) error{
		"pool": runPool, "enqueue": runEnqueue, "client": runClient, "drive": runDrive,
	}
	verb := verbs[os.Args[1]]
	if verb == nil {
		fail(fmt.Errorf("%s", usage))
	}
	cmd := &command{flags: flag.NewFlagSet(os.Args[1], flag.ExitOnError), server: &server{}, timers: documentedTimers()}
	cmd.flags.StringVar(&cmd.server.address, "redis", "127.0.0.1:6379", "HOST:PORT")
	cmd.flags.IntVar(&cmd.server.database, "db", 0, "number of the database")
	if err := verb(cmd, os.Args[2:]); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// parse reads flags and words in any order. There must be so many words, and may be some more.
func (c *command) parse(args []string, needed, more int) {
	for len(args) > 0 {
		c.flags.Parse(args)
		if args = c.flags.Args(); len(args) > 0 {
			c.words = append(c.words, args[0])
			args = args[1:]
		}
	}
	if len(c.words) < needed || len(c.words) > needed+more {
		fail(fmt.Errorf("%s", usage))
	}
	for len(c.words) < needed+more {
		c.words = append(c.words, "")
	}
}

func (c *command) timerFlags() {
	t := &c.timers
	c.flags.DurationVar(&t.heartbeat, "heartbeat", t.heartbeat, "pause between heartbeats")
	c.flags.DurationVar(&t.requeue, "requeue", t.requeue, "pause between looks for due jobs")
	c.flags.DurationVar(&t.deadAfter, "dead-after", t.deadAfter, "age of the heartbeat of a dead pool")
	c.flags.DurationVar(&t.reap, "reap", t.reap, "pause between looks for dead pools")
	c.flags.DurationVar(&t.periodic, "periodic-every", t.periodic, "pause between enqueueings of periodic jobs")
	c.flags.DurationVar(&t.observe, "observe", t.observe, "pause between observations")
	c.flags.Int64Var(&t.jitter, "jitter", t.jitter, "seconds, up to which the last two pauses of a pool vary")
	c.flags.Func("sleeps", "ms that a worker sleeps after so many empty fetches in a row", func(text string) error {
		t.sleeps = nil
		for _, each := range strings.Split(text, ",") {
			ms, err := strconv.Atoi(each)
			if err != nil {
				return err
			}
			t.sleeps = append(t.sleeps, time.Duration(ms)*time.Millisecond)
		}
		return nil
	})
}

func runDrive(c *command, args []string) error {
	c.timerFlags()
	c.parse(args, 0, 0)
	return drive(c.server, c.timers, bufio.NewReader(os.Stdin))
}

func runClient(c *command, args []string) error {
	var asked question
	c.flags.Int64Var(&asked.Page, "page", 1, "")
	c.flags.Int64Var(&asked.Score, "score", 0, "")
	c.flags.StringVar(&asked.ID, "id", "", "")
	c.parse(args, 2, 0)
	asked.Op = c.words[1]
	answer := (&client{c.server, newNamespace(c.words[0])}).answer(asked)
	say(answer)
	if answer.Error != "" {
		os.Exit(1)
	}
	return nil
}

func runEnqueue(c *command, args []string) error {
	in := c.flags.String("in", "", "seconds")
	unique := c.flags.Bool("unique", false, "")
	key := c.flags.String("key", "", "a JSON object")
	count := c.flags.Int("count", 0, "so many jobs, each with its number `n` in its arguments")
	first := c.flags.Int("first", 0, "the number of the first of them")
	c.parse(args, 2, 1)
	var seconds *int64
	if *in != "" {
		number, err := strconv.ParseInt(*in, 10, 64)
		if err != nil {
			return err
		}
		seconds = &number
	}
	to := newEnqueuer(c.server, newNamespace(c.words[0]))
	if *count == 0 {
		job, err := add(to, c.words[1], c.words[2], seconds, *unique, *key)
		if err == nil {
			say(outcome{Returned: job})
		}
		return err
	}
	numbered, err := readArgs(c.words[2])
	if err != nil {
		return err
	}
	if numbered == nil {
		numbered = map[string]interface{}{}
	}
	for n := 0; n < *count; n++ {
		numbered["n"] = *first + n
		if _, _, err := to.add(c.words[1], numbered, addition{in: seconds, unique: *unique}); err != nil {
			return err
		}
	}
	say(event{"added": *count})
	return nil
}

func runPool(c *command, args []string) error {
	jobsText := c.flags.String("jobs", "", "")
	concurrency := c.flags.Int("concurrency", 10, "")
	logName := c.flags.String("log", "", "a file")
	isCounting := c.flags.Bool("count", false, "handlers only count; the last line says how many, and the sum of `n`")
	skipDead := c.flags.String("skip-dead", "", "")
	backoff := c.flags.Int64("backoff", -1, "seconds before the next attempt, in place of the documented pause")
	periodic := []periodicJob{}
	c.flags.Func("periodic", "SPEC=NAME", func(text string) error {
		cut := strings.LastIndex(text, "=")
		if cut < 0 {
			return fmt.Errorf("no = in %q", text)
		}
		each, err := newPeriodicJob(text[:cut], text[cut+1:])
		periodic = append(periodic, each)
		return err
	})
	c.timerFlags()
	c.parse(args, 1, 0)
	var log *os.File
	if *logName != "" {
		var err error
		if log, err = os.OpenFile(*logName, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644); err != nil {
			return err
		}
	}
	jobs, counted := []*jobType{}, &tally{}
	for _, text := range strings.Split(*jobsText, ",") {
		job, err := readJobType(text)
		if err != nil {
			return err
		}
		job.handle = asArgsSay(log)
		if *isCounting {
			job.handle = counted.handle
		}
		job.skipDead = strings.Contains(","+*skipDead+",", ","+job.name+",")
		if *backoff >= 0 {
			job.backoff = backoffOf(backoff)
		}
		jobs = append(jobs, job)
	}
	p := newPool(c.server, newNamespace(c.words[0]), *concurrency, jobs, periodic, c.timers, tell)
	ends := make(chan os.Signal, 1)
	signal.Notify(ends, os.Interrupt, syscall.SIGTERM)
	p.start()
	say(event{"started": p.id})
	<-ends
	p.stop()
	say(event{"stopped": p.id, "ran": counted.ran, "sum": counted.sum})
	return nil
}

// readJobType reads NAME:PRIORITY[:MAX_CONCURRENCY[:MAX_FAILS]]; NAME alone has priority 1.
func readJobType(text string) (*jobType, error) {
	parts := strings.Split(text, ":")
	numbers := []int64{1, 0, 0}
	if parts[0] == "" || len(parts) > 1+len(numbers) {
		return nil, fmt.Errorf("not NAME:PRIORITY[:MAX_CONCURRENCY[:MAX_FAILS]]: %q", text)
	}
	for i, part := range parts[1:] {
		number, err := strconv.ParseInt(part, 10, 64)
		if err != nil {
			return nil, err
		}
		numbers[i] = number
	}
	return &jobType{
		name: parts[0], priority: atLeastOne(numbers[0]), maxConcurrency: numbers[1], maxFails: numbers[2],
		backoff: defaultBackoff,
	}, nil
}
