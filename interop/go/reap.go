package main

import (
	"math/rand"
	"strconv"
	"strings"
	"sync"
	"time"
)

// reap takes back what pools left whose heartbeat is old. Of a pool without a heartbeat it only releases the locks, and
// those only of the names that are served here.
func (p *pool) reap() {
	members, err := p.server.do("SMEMBERS", p.ns.pools())
	if err != nil {
		p.report("dead_pool_reaper.find", err)
		return
	}
	for _, id := range texts(members) {
		p.report("dead_pool_reaper.reap", p.reapPool(id))
	}
}

func (p *pool) reapPool(id string) error {
	at, err := p.server.do("HGET", p.ns.heartbeat(id), "heartbeat_at")
	if err != nil {
		return err
	}
	locked := p.names
	if at != nil {
		beat, err := strconv.ParseInt(at.(string), 10, 64)
		if err != nil || time.Unix(beat, 0).Add(p.timers.deadAfter).After(clock()) {
			return err
		}
		names, err := p.server.do("HGET", p.ns.heartbeat(id), "job_names")
		if err != nil || names == nil {
			return err
		}
		locked = strings.Split(names.(string), ",")
		if err := p.requeueDead(id, locked); err != nil {
			return err
		}
		if _, err := p.server.do("DEL", p.ns.heartbeat(id)); err != nil {
			return err
		}
	}
	if _, err := p.server.do("SREM", p.ns.pools(), id); err != nil {
		return err
	}
	keys := []string{}
	for _, name := range locked {
		keys = append(keys, p.ns.lock(name), p.ns.lockInfo(name))
	}
	_, err = staleLocksScript.run(p.server, keys, id)
	return err
}

func (p *pool) requeueDead(id string, names []string) error {
	keys := []string{}
	for _, name := range names {
		keys = append(keys, p.ns.inProgress(name, id), p.ns.queue(name), p.ns.lock(name), p.ns.lockInfo(name))
	}
	for {
		moved, err := requeueDeadScript.run(p.server, keys, id)
		if err != nil || moved == nil {
			return err
		}
	}
}

var (
	source = rand.New(rand.NewSource(time.Now().UnixNano()))
	dice   sync.Mutex
)

// random answers an integer from 0 up to below the bound.
func random(bound int64) int64 {
	dice.Lock()
	defer dice.Unlock()
	return source.Int63n(bound)
}
