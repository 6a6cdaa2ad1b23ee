package tally_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belay-hooks/belay/internal/tally"
)

// log holds what became an event.
type log struct {
	mu     sync.Mutex
	counts []tally.Count
	fails  bool
}

func (l *log) write(_ context.Context, c tally.Count) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fails {
		return errors.New("the disk is full")
	}
	l.counts = append(l.counts, c)
	return nil
}

// taken returns the events since the last call, and how many tries they stand for.
func (l *log) taken() (events int, tries int64) {
	synctest.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.counts {
		tries += c.N
	}
	events = len(l.counts)
	l.counts = nil
	return events, tries
}

func start(t *testing.T, l *log) (ta *tally.Tally, stop func()) {
	t.Helper()
	ta = tally.New(tally.Options{Write: l.write})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); ta.Run(ctx) }()
	return ta, func() { cancel(); <-done }
}

// The first try is an event at once. One user who tries without end leaves fewer and fewer of them, and no try is lost.
func TestOneWhoGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &log{}
		ta, stop := start(t, l)
		k := tally.Key{UID: 1503, Code: "not_allowed"}
		ta.Add(k, "no")
		if events, tries := l.taken(); events != 1 || tries != 1 {
			t.Fatalf("the first: %d events, %d tries", events, tries)
		}
		const seconds = 24 * 3600
		for range seconds {
			for range 3 {
				ta.Add(k, "no")
			}
			time.Sleep(time.Second)
		}
		stop()
		if events, tries := l.taken(); events > 40 || events < 20 || tries != 3*seconds {
			t.Errorf("a day: %d events of %d tries, want some 30 of %d", events, tries, 3*seconds)
		}
	})
}

// A flood under many uids is bounded, too: in events, and in what is held of it.
func TestManyWhoGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &log{}
		ta, stop := start(t, l)
		var all int64
		for range 600 {
			for uid := range 500 {
				ta.Add(tally.Key{UID: 100000 + uid, Code: "not_allowed", Where: "belay.sock"}, "no")
				all++
			}
			time.Sleep(time.Second)
		}
		events, tries := l.taken()
		if events > 32+600/10+1 {
			t.Errorf("%d events in 10 minutes", events)
		}
		stop()
		l.mu.Lock()
		unnamed := 0
		for _, c := range l.counts {
			unnamed = max(unnamed, c.Users)
		}
		l.mu.Unlock()
		more, rest := l.taken()
		if tries+rest != all || more > 257 || unnamed < 200 {
			t.Errorf("%d and %d tries in %d and %d events of %d tries; %d users without a name", tries, rest, events, more, all,
				unnamed)
		}
	})
}

// While nothing can be written the tries are counted, and written afterwards.
func TestNothingIsLostMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &log{fails: true}
		ta, stop := start(t, l)
		for range 100 {
			ta.Add(tally.Key{UID: 1, Code: "c"}, "no")
			time.Sleep(time.Second)
		}
		if events, _ := l.taken(); events != 0 {
			t.Fatalf("%d events", events)
		}
		l.mu.Lock()
		l.fails = false
		l.mu.Unlock()
		time.Sleep(2 * time.Second)
		if events, tries := l.taken(); events != 1 || tries != 100 {
			t.Errorf("%d events, %d tries", events, tries)
		}
		stop()
	})
}

// A kind that was quiet is an event at once again.
func TestQuietIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &log{}
		ta, stop := start(t, l)
		k := tally.Key{UID: 1, Code: "c"}
		for range 3 {
			ta.Add(k, "no")
			if events, _ := l.taken(); events != 1 {
				t.Errorf("%d events", events)
			}
			time.Sleep(2 * time.Minute)
		}
		stop()
	})
}
