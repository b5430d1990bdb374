package main

import "strings"

// A namespace names the keys that the pools of one fleet share. Its text is the prefix of all of them.
type namespace string

func newNamespace(name string) namespace {
	if name != "" && !strings.HasSuffix(name, ":") {
		name += ":"
	}
	return namespace(name)
}

func (n namespace) key(rest ...string) string { return string(n) + strings.Join(rest, "") }

func (n namespace) knownJobs() string            { return n.key("known_jobs") }
func (n namespace) scheduled() string            { return n.key("scheduled") }
func (n namespace) retry() string                { return n.key("retry") }
func (n namespace) dead() string                 { return n.key("dead") }
func (n namespace) pools() string                { return n.key("worker_pools") }
func (n namespace) heartbeat(pool string) string { return n.key("worker_pools:", pool) }
func (n namespace) worker(id string) string      { return n.key("worker:", id) }
func (n namespace) lastPeriodic() string         { return n.key("last_periodic_enqueue") }
func (n namespace) queuePrefix() string          { return n.key("jobs:") }
func (n namespace) queue(job string) string      { return n.key("jobs:", job) }
func (n namespace) paused(job string) string     { return n.key("jobs:", job, ":paused") }
func (n namespace) lock(job string) string       { return n.key("jobs:", job, ":lock") }
func (n namespace) lockInfo(job string) string   { return n.key("jobs:", job, ":lock_info") }
func (n namespace) limit(job string) string      { return n.key("jobs:", job, ":max_concurrency") }
func (n namespace) inProgress(job, pool string) string {
	return n.key("jobs:", job, ":", pool, ":inprogress")
}

// queues answers the queue of every name, behind the keys that come first.
func (n namespace) queues(jobs []string, first ...string) []string {
	keys := first
	for _, job := range jobs {
		keys = append(keys, n.queue(job))
	}
	return keys
}
