package postgres_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/belay-hooks/belay/internal/store/postgres"
	"github.com/belay-hooks/belay/internal/store/postgres/pgtest"
)

// soak is many kernels, each a process of its own, on one database, while they are killed, their connections are cut,
// the server crashes, and a replica takes over once. `make soak-postgres` runs it.
type soak struct {
	*testing.T
	o          postgres.Options
	proxy      *pgtest.Proxy
	dir        string // of the journals
	kernels    int
	operations int
	until      time.Time

	random                           *rand.Rand
	kills, cuts, restarts, failovers int
	lost                             atomic.Int32 // answers
	mu                               sync.Mutex
	processes                        []*os.Process
	begun                            []int // processes of each kernel so far
}

// TestSoak runs BELAY_SOAK_OPERATIONS operations, or as many as it can in BELAY_SOAK_TIME, and then compares what the
// database holds with what each caller was told.
func TestSoak(t *testing.T) {
	operations := setting("BELAY_SOAK_OPERATIONS", 0)
	if operations == 0 {
		t.Skip("it takes an hour: run `make soak-postgres`")
	}
	lasts, err := time.ParseDuration(os.Getenv("BELAY_SOAK_TIME"))
	if err != nil {
		lasts = 24 * time.Hour
	}
	seed := rand.Uint64()
	s := &soak{T: t, dir: t.TempDir(), kernels: setting("BELAY_SOAK_KERNELS", 16), operations: operations,
		until: time.Now().Add(lasts), random: rand.New(rand.NewPCG(seed, 0)), proxy: pgtest.NewProxy(t)}
	replica := pgtest.Replica(t)
	s.o = pgtest.Options(t, "prepare")
	s.o.DSN = s.proxy.DSN(t)
	s.begun, s.processes = make([]int, s.kernels), make([]*os.Process, s.kernels)
	world := newSoakWorld(operations)
	world.prepare(t, s.o)
	t.Logf("seed %d: %d operations of %d kernels with %d callers each", seed, operations, s.kernels, soakCallers())
	start := time.Now()
	var work sync.WaitGroup
	for k := range s.kernels {
		work.Go(func() { s.keep(k) })
	}
	done := make(chan struct{})
	go func() { work.Wait(); close(done) }()
	s.trouble(done, replica)
	work.Wait()
	took := time.Since(start)
	t.Logf("%v: %d kernels killed, connections cut %d times, %d answers lost, the server crashed %d times, %d failovers",
		took.Round(time.Second), s.kills, s.cuts, s.lost.Load(), s.restarts, s.failovers)
	world.check(s)
	t.Logf("%d of %d operations, %.0f a second", world.done, operations, float64(world.done)/took.Seconds())
}

func soakCallers() int { return setting("BELAY_SOAK_CALLERS", 64) }

// keep has a kernel's process run, and starts it again when it was killed.
func (s *soak) keep(k int) {
	for {
		s.mu.Lock()
		s.begun[k]++
		c := exec.Command(os.Args[0], "-test.run=^TestSoakKernel$", "-test.v", "-test.timeout=0")
		c.Env = append(os.Environ(), "BELAY_SOAK_DSN="+s.o.DSN, "BELAY_SOAK_SCHEMA="+s.o.Schema, "BELAY_SOAK_DIR="+s.dir,
			fmt.Sprint("BELAY_SOAK_KERNEL=", k), fmt.Sprint("BELAY_SOAK_PROCESS=", s.begun[k]),
			fmt.Sprint("BELAY_SOAK_QUOTA=", s.operations/s.kernels))
		log, err := os.OpenFile(filepath.Join(s.dir, fmt.Sprint("k", k, ".log")), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err == nil {
			c.Stdout, c.Stderr = log, log
			err = c.Start()
		}
		s.processes[k] = c.Process
		s.mu.Unlock()
		if err != nil {
			s.Error(err)
			return
		}
		err = c.Wait()
		log.Close()
		if s.mu.Lock(); c.Process != nil {
			s.processes[k] = nil
		}
		s.mu.Unlock()
		status, _ := c.ProcessState.Sys().(syscall.WaitStatus)
		if err == nil {
			return // it has done all
		}
		if !status.Signaled() {
			text, _ := os.ReadFile(log.Name())
			s.Errorf("kernel %d: %v\n%s", k, err, tail(string(text), 4000))
			return
		}
	}
}

func tail(s string, n int) string { return s[max(0, len(s)-n):] }

// trouble makes trouble until the kernels are done.
func (s *soak) trouble(done chan struct{}, replica *pgtest.Server) {
	begin, told, asked := time.Now(), time.Now(), 0
	for n := 1; ; n++ {
		select {
		case <-done:
			return
		case <-time.After(3 * time.Second):
		}
		if time.Now().After(s.until) {
			if err := os.WriteFile(filepath.Join(s.dir, "stop"), nil, 0o600); err != nil {
				s.Error(err)
			}
			continue
		}
		now := s.progress()
		switch {
		case replica != nil && (now > s.operations/2 || time.Since(begin) > time.Until(s.until)):
			replica.TakeOver(s.T, s.proxy)
			s.failovers++
			replica = nil
		case n%20 == 10:
			pgtest.Restart(s.T)
			s.restarts++
		case n%6 == 1:
			s.proxy.Cut()
			s.cuts++
		case n%3 == 1:
			s.lose()
		default:
			s.kill()
		}
		if time.Since(told) > 15*time.Second {
			s.Logf("%v: %d operations, %.0f a second; %d kills, %d cuts, %d crashes, %d failovers",
				time.Since(begin).Round(time.Second), now, float64(now-asked)/time.Since(told).Seconds(), s.kills, s.cuts,
				s.restarts, s.failovers)
			told, asked = time.Now(), now
		}
	}
}

// lose loses answers to what kernels have written, each with its connection. That it was written is only in the log.
func (s *soak) lose() {
	left := atomic.Int32{}
	left.Store(int32(s.kernels))
	s.proxy.Drop(func(b []byte) bool {
		// What a function that returns nothing answers; readers call none.
		lost := bytes.Contains(b, []byte("\x00\x01\x00\x00\x00\x00C\x00\x00\x00\rSELECT 1\x00")) && left.Add(-1) >= 0
		if lost {
			s.lost.Add(1)
		}
		return lost
	})
}

func (s *soak) kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.processes[s.random.IntN(s.kernels)]; p != nil && p.Signal(syscall.SIGKILL) == nil {
		s.kills++
	}
}

// progress counts the answers in all journals, but for those of a store that was away.
func (s *soak) progress() (n int) {
	names, _ := filepath.Glob(filepath.Join(s.dir, "*.journal"))
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			s.Error(err)
		}
		n += strings.Count(string(b), "=")
	}
	return n
}
