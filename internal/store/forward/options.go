package forward

import (
	"cmp"
	"fmt"
	"time"
)

// Options are the bounds of a store. Zero values are usual.
type Options struct {
	Keep  int64         // bytes of events that may wait to be forwarded; 0 means 1 GiB
	Turn  time.Duration // how long local commits wait for PostgreSQL at most, when it stops to answer; 0 means 5 seconds
	Probe time.Duration // how often a PostgreSQL that is away is tried; 0 means 1 second
}

const (
	keepDefault  = 1 << 30
	turnDefault  = 5 * time.Second
	probeDefault = time.Second

	firstWait = 3 * time.Second // for a PostgreSQL that may be away, when a store is opened
	lastWait  = 2 * time.Second // to forward the rest, when it is closed

	chunkEvents = 512 // in one statement
	chunkBytes  = 1 << 20
	chunkHeads  = 256
	pruneAgain  = time.Minute // after shared rows could not be pruned
	hintEvery   = 10_000      // events; so many may be counted as waiting that do not wait, after a crash
)

func (o Options) withDefaults() (Options, error) {
	if o.Keep < 0 || o.Turn < 0 || o.Probe < 0 {
		return o, fmt.Errorf("keep, turn and probe are not below 0")
	}
	o.Keep, o.Turn, o.Probe = cmp.Or(o.Keep, keepDefault), cmp.Or(o.Turn, turnDefault), cmp.Or(o.Probe, probeDefault)
	return o, nil
}
