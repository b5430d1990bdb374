package main

import (
	"errors"
	"fmt"
	"sort"
	"strconv"
	"strings"
)

// A client looks at a namespace and administers it.
type client struct {
	server *server
	ns     namespace
}

// A question is an operation of the client with what it needs.
type question struct {
	Op    string `json:"op"`
	Page  int64  `json:"page"` // from 1
	Score int64  `json:"score"`
	ID    string `json:"id"`
}

// An outcome is what a peer answers to an operation.
type outcome struct {
	Returned interface{} `json:"returned"`
	Count    *int64      `json:"count,omitempty"`
	Error    string      `json:"error,omitempty"`
}

var (
	errNothingDeleted = errors.New("nothing deleted")
	errNothingRetried = errors.New("nothing retried")
)

func (c *client) answer(q question) outcome {
	var found outcome
	var err error
	switch q.Op {
	case "queues":
		found.Returned, err = c.queues()
	case "worker_pools":
		found.Returned, err = c.workerPools()
	case "worker_observations":
		found.Returned, err = c.observations()
	case "scheduled_jobs":
		found, err = c.page(c.ns.scheduled(), "run_at", q.Page)
	case "retry_jobs":
		found, err = c.page(c.ns.retry(), "retry_at", q.Page)
	case "dead_jobs":
		found, err = c.page(c.ns.dead(), "died_at", q.Page)
	case "delete_dead_job":
		_, err = c.remove(c.ns.dead(), q)
	case "delete_retry_job":
		_, err = c.remove(c.ns.retry(), q)
	case "delete_scheduled_job":
		err = c.removeScheduled(q)
	case "delete_all_dead_jobs":
		_, err = c.server.do("DEL", c.ns.dead())
	case "retry_dead_job":
		err = c.retryOne(q)
	case "retry_all_dead_jobs":
		err = c.retryAll()
	default:
		err = fmt.Errorf("no such operation: %q", q.Op)
	}
	if err != nil {
		found.Error = err.Error()
	}
	return found
}

func (c *client) members(key string) ([]string, error) {
	found, err := c.server.do("SMEMBERS", key)
	members := texts(found)
	sort.Strings(members)
	return members, err
}

// queues fails where the next text of any queue is not readable.
func (c *client) queues() (interface{}, error) {
	names, err := c.members(c.ns.knownJobs())
	if err != nil {
		return nil, err
	}
	queues := []event{}
	for _, name := range names {
		length, err := c.server.do("LLEN", c.ns.queue(name))
		if err != nil {
			return nil, err
		}
		latency := int64(0)
		if length != int64(0) {
			next, err := c.server.do("LINDEX", c.ns.queue(name), -1)
			if err != nil {
				return nil, err
			}
			if text, is := next.(string); is {
				job, err := readJob(text)
				if err != nil {
					return nil, err
				}
				latency = now() - job.T
			}
		}
		queues = append(queues, event{"job_name": name, "count": length, "latency": latency})
	}
	return queues, nil
}

// hash reads a hash whose fields of the given names are integers. One that is none fails all.
func (c *client) hash(key string, integers string) (event, error) {
	found, err := c.server.do("HGETALL", key)
	if err != nil {
		return nil, err
	}
	fields := event{}
	pairs := texts(found)
	for i := 0; i+1 < len(pairs); i += 2 {
		fields[pairs[i]] = pairs[i+1]
		if strings.Contains(" "+integers+" ", " "+pairs[i]+" ") {
			if fields[pairs[i]], err = strconv.ParseInt(pairs[i+1], 10, 64); err != nil {
				return nil, err
			}
		}
	}
	return fields, nil
}

func (c *client) workerPools() ([]event, error) {
	ids, err := c.members(c.ns.pools())
	found := []event{}
	for _, id := range ids {
		fields, err := c.hash(c.ns.heartbeat(id), "heartbeat_at started_at concurrency pid")
		if err != nil {
			return nil, err
		}
		for _, list := range []string{"job_names", "worker_ids"} {
			text, _ := fields[list].(string)
			fields[list] = strings.Split(text, ",")
		}
		fields["worker_pool_id"] = id
		found = append(found, fields)
	}
	return found, err
}

func (c *client) observations() (interface{}, error) {
	pools, err := c.workerPools()
	if err != nil {
		return nil, err
	}
	found := []event{}
	for _, pool := range pools {
		for _, id := range pool["worker_ids"].([]string) {
			fields, err := c.hash(c.ns.worker(id), "started_at checkin_at")
			if err != nil {
				return nil, err
			}
			is := len(fields) > 0
			if is {
				fields["args_json"] = fields["args"]
				delete(fields, "args")
			}
			fields["worker_id"], fields["is_busy"] = id, is
			found = append(found, fields)
		}
	}
	return found, nil
}

// page answers 20 jobs of a sorted set, and how many there are on all pages.
func (c *client) page(set, scoreName string, page int64) (outcome, error) {
	if page < 1 {
		page = 1
	}
	pairs, err := c.server.do("ZRANGEBYSCORE", set, "-inf", "+inf", "WITHSCORES", "LIMIT", (page-1)*20, 20)
	if err != nil {
		return outcome{}, err
	}
	jobs := []interface{}{}
	list := texts(pairs)
	for i := 0; i+1 < len(list); i += 2 {
		job, err := readJob(list[i])
		if err != nil {
			return outcome{}, err
		}
		score, err := strconv.ParseFloat(list[i+1], 64)
		if err != nil {
			return outcome{}, err
		}
		shown, err := withScore(job, scoreName, int64(score))
		if err != nil {
			return outcome{}, err
		}
		jobs = append(jobs, shown)
	}
	total, err := c.server.do("ZCARD", set)
	count, _ := total.(int64)
	return outcome{Returned: jobs, Count: &count}, err
}

func (c *client) remove(set string, q question) (string, error) {
	answer, err := deleteOneScript.run(c.server, []string{set}, q.Score, q.ID)
	if err != nil {
		return "", err
	}
	pair := answer.([]reply)
	if pair[0] == int64(0) {
		return "", errNothingDeleted
	}
	return pair[1].(string), nil
}

// removeScheduled also ends the uniqueness by arguments of what it deletes, but not the one by a key map.
func (c *client) removeScheduled(q question) error {
	text, err := c.remove(c.ns.scheduled(), q)
	if err != nil {
		return err
	}
	job, err := readJob(text)
	if err != nil || !job.Unique {
		return err
	}
	key, err := c.ns.uniqueKey(job.Name, job.Args)
	if err != nil {
		return err
	}
	_, err = c.server.do("DEL", key)
	return err
}

func (c *client) deadAndQueues() ([]string, error) {
	names, err := c.members(c.ns.knownJobs())
	return c.ns.queues(names, c.ns.dead()), err
}

func (c *client) retryOne(q question) error {
	keys, err := c.deadAndQueues()
	if err != nil {
		return err
	}
	count, err := retryOneScript.run(c.server, keys, c.ns.queuePrefix(), now(), q.Score, q.ID)
	if err == nil && count == int64(0) {
		err = errNothingRetried
	}
	return err
}

func (c *client) retryAll() error {
	keys, err := c.deadAndQueues()
	if err != nil {
		return err
	}
	for i := 0; i < 1000; i++ {
		count, err := retryAllScript.run(c.server, keys, c.ns.queuePrefix(), now(), 1000)
		if err != nil || count == int64(0) {
			return err
		}
	}
	return nil
}
