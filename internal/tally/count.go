package tally

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"
)

// Key says which tries are counted together.
type Key struct {
	UID   int
	Code  string // why, or what: one of few words, which the program has and no caller chooses
	Where string // likewise
}

// Count is what is due to become an event.
type Count struct {
	Key
	Text  string // of the last one
	N     int64
	Since time.Time // of the first of them
	// Users, above 0: the count stands for keys that found no place, of this many users or more. Key has their code
	// alone, and -1 as uid.
	Users int
}

// Options are what a tally needs; zero members but Write take the defaults.
type Options struct {
	// Write makes an event. It may wait. With an error the count stays, and grows until Write succeeds.
	Write func(context.Context, Count) error

	Every   time.Duration // between two events of one key, at first; doubles; default 1 min
	Longest time.Duration // and at most; default 1 h
	Keys    int           // that are told apart; default 256
	Burst   int           // events at once; default 32
	Refill  time.Duration // until there may be one more; default 10 s
	Retry   time.Duration // after an error of Write; default 1 s
	Last    time.Duration // for what is left at the end; default 2 s
}

// maxUsers is how many uids without a place are told apart for each code.
const maxUsers = 1024

// Tally counts. Safe for concurrent use.
type Tally struct {
	o    Options
	wake chan struct{}

	mu     sync.Mutex
	counts map[Key]*count
	others map[string]*count // by code: of keys that found no place
	tokens int
	filled time.Time // when there was one more token last
}

type count struct {
	n     int64
	text  string
	since time.Time
	next  time.Time     // no event before
	wait  time.Duration // from the next event to the one after it
	users map[int]bool  // of others
}

// New returns a tally that counts at once, and writes when Run does.
func New(o Options) *Tally {
	o.Every, o.Longest = cmp.Or(o.Every, time.Minute), cmp.Or(o.Longest, time.Hour)
	o.Keys, o.Burst = cmp.Or(o.Keys, 256), cmp.Or(o.Burst, 32)
	o.Refill, o.Retry, o.Last = cmp.Or(o.Refill, 10*time.Second), cmp.Or(o.Retry, time.Second), cmp.Or(o.Last,
		2*time.Second)
	return &Tally{o: o, wake: make(chan struct{}, 1), counts: map[Key]*count{}, others: map[string]*count{},
		tokens: o.Burst, filled: time.Now()}
}

// Add counts a try. It never waits for Write.
func (t *Tally) Add(k Key, text string) {
	t.mu.Lock()
	now := time.Now()
	c := t.place(k, now)
	c.n++
	c.text = text
	if c.n == 1 {
		c.since = now
	}
	due := c.n == 1 && !now.Before(c.next) // otherwise Run knows of it: a flood does not wake it for each try
	t.mu.Unlock()
	if !due {
		return
	}
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// place returns where a key is counted. Preconditions: t.mu is held.
func (t *Tally) place(k Key, now time.Time) *count {
	if c := t.counts[k]; c != nil {
		return c
	}
	if len(t.counts) >= t.o.Keys {
		for other, c := range t.counts {
			if c.n == 0 && now.After(c.next) { // quiet for as long as it would have to wait
				delete(t.counts, other)
			}
		}
	}
	if len(t.counts) < t.o.Keys {
		c := &count{wait: t.o.Every}
		t.counts[k] = c
		return c
	}
	c := t.others[k.Code]
	if c == nil {
		c = &count{wait: t.o.Every, users: map[int]bool{}}
		t.others[k.Code] = c
	}
	if len(c.users) < maxUsers {
		c.users[k.UID] = true
	}
	return c
}

// Run writes what is due until ctx ends, and then what is left.
func (t *Tally) Run(ctx context.Context) {
	for {
		wait := t.write(ctx)
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), t.o.Last)
			defer cancel()
			for _, d := range t.due(time.Now(), true) {
				if t.o.Write(last, d.Count) != nil {
					return
				}
				t.written(d)
			}
			return
		case <-timer.C:
		case <-t.wake:
			timer.Stop()
		}
	}
}

// write writes what is due now, and returns how long nothing else is.
func (t *Tally) write(ctx context.Context) time.Duration {
	for _, d := range t.due(time.Now(), false) {
		if ctx.Err() != nil {
			return 0
		}
		if !t.take() {
			break
		}
		if err := t.o.Write(ctx, d.Count); err != nil {
			t.giveBack()
			t.pause(ctx)
			return 0
		}
		t.written(d)
	}
	return t.quiet(time.Now())
}

// pause waits for Retry: what is added meanwhile wakes nothing.
func (t *Tally) pause(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(t.o.Retry):
	}
}

// pending is a count that is due, and where it is counted.
type pending struct {
	Count
	of *count
}

// due returns what is due, the longest waiting first; with all also what is not due yet.
func (t *Tally) due(now time.Time, all bool) (out []pending) {
	t.mu.Lock()
	defer t.mu.Unlock()
	add := func(k Key, c *count) {
		if c.n > 0 && (all || !now.Before(c.next)) {
			out = append(out, pending{Count{Key: k, Text: c.text, N: c.n, Since: c.since, Users: len(c.users)}, c})
		}
	}
	for k, c := range t.counts {
		add(k, c)
	}
	for code, c := range t.others {
		add(Key{UID: -1, Code: code}, c)
	}
	slices.SortFunc(out, func(a, b pending) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.UID, b.UID), cmp.Compare(a.Code, b.Code),
			cmp.Compare(a.Where, b.Where))
	})
	return out
}

// written takes off a count what has become an event.
func (t *Tally) written(d pending) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	d.of.n -= d.N
	if d.of.n > 0 {
		d.of.since = now // at the latest
	}
	d.of.next = now.Add(d.of.wait)
	d.of.wait = min(2*d.of.wait, t.o.Longest)
	if d.of.users != nil {
		clear(d.of.users)
	}
}

// take takes a token, if there is one.
func (t *Tally) take() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for now := time.Now(); t.tokens < t.o.Burst && now.Sub(t.filled) >= t.o.Refill; t.filled = t.filled.Add(t.o.Refill) {
		t.tokens++
	}
	if t.tokens == t.o.Burst {
		t.filled = time.Now()
	}
	if t.tokens == 0 {
		return false
	}
	t.tokens--
	return true
}

func (t *Tally) giveBack() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.tokens = min(t.tokens+1, t.o.Burst)
}

// quiet returns how long no event can be due, without a further try. It forgets keys whose time is over.
func (t *Tally) quiet(now time.Time) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	wait := t.o.Longest
	look := func(c *count) (over bool) {
		if c.n == 0 {
			if now.After(c.next) {
				return true
			}
			wait = min(wait, c.next.Sub(now)+time.Millisecond)
			return false
		}
		until := c.next.Sub(now)
		if t.tokens == 0 {
			until = max(until, t.filled.Add(t.o.Refill).Sub(now))
		}
		wait = min(wait, until)
		return false
	}
	for k, c := range t.counts {
		if look(c) {
			delete(t.counts, k)
		}
	}
	for code, c := range t.others {
		if look(c) {
			delete(t.others, code)
		}
	}
	return max(wait, time.Millisecond)
}
