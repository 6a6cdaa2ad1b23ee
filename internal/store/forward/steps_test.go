//go:build unix

package forward_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/store/forward"
	"github.com/belay-hooks/belay/internal/store/postgres"
	"github.com/belay-hooks/belay/internal/store/postgres/pgtest"
	"github.com/belay-hooks/belay/internal/store/sqlite"
	"github.com/belay-hooks/belay/kernel"
)

// once returns a fault that happens at a step for the first time only.
func once(step string, f func() error) func(string) error {
	var done atomic.Bool
	return func(at string) error {
		if at != step || !done.CompareAndSwap(false, true) {
			return nil
		}
		return f()
	}
}

// there reports whether the log has an event.
func there(t *testing.T, s kernel.Store, id string) bool {
	t.Helper()
	es, err := s.Events(t.Context(), wire.Query{ID: id})
	if err != nil {
		t.Fatal(err)
	}
	return len(es) == 1
}

// agreed checks that a claim was made as a whole or not at all: its use, its event, its local row. told is what its
// caller was told; nil: the caller has died.
func agreed(t *testing.T, s *forward.Store, o postgres.Options, event, lease string, told *error) {
	t.Helper()
	until(t, "in use", func() bool { st := s.State(); return st.Away.IsZero() && st.Unsettled == 0 })
	used := there(t, s, event)
	if told != nil && (*told == nil) != used {
		t.Errorf("the caller was told %v, and the log has the event: %v", *told, used)
	}
	if n := uses(t, s, lease); (n == 1) != used || n > 1 {
		t.Errorf("the lease has %d uses, and the log has the event: %v", n, used)
	}
	v, err := s.HookState(t.Context(), "n", event)
	if err != nil || (v.Version != 0) != used {
		t.Errorf("the local row is %+v, %v, and the log has the event: %v", v, err, used)
	}
	if !used { // it goes on where it was
		commit(t, s, claimed(event, lease))
	}
	commit(t, s, claimed("next", lease))
	if n := uses(t, s, lease); n != 2 {
		t.Errorf("the lease has %d uses after two claims", n)
	}
	commit(t, s, batch("last"))
	same(t, s, o)
}

// Whatever fails in whatever step, a shared batch is in both databases or in none, the caller is told which, and it
// goes on without a hand.
func TestStepsFail(t *testing.T) {
	p := pgtest.NewProxy(t)
	o := pgtest.Options(t, "k")
	dsn := o.DSN
	for _, step := range forward.Steps() {
		t.Run(step, func(t *testing.T) {
			for name, fault := range map[string]func() error{
				"cut":   func() error { p.Cut(); return nil },
				"error": func() error { return errors.New("failed by the test") },
			} {
				t.Run(name, func(t *testing.T) {
					o.Kernel, o.DSN = step+"-"+name, p.DSN(t)
					s := open(t, filepath.Join(t.TempDir(), "belay.db"), o, forward.Options{Probe: 10 * time.Millisecond})
					defer kill(t, s)
					lease := o.Kernel
					commit(t, s, minted(lease, 3))
					s.SetFault(once(step, fault))
					commit(t, s, batch("local"))
					_, err := s.Commit(t.Context(), claimed("claim", lease))
					if step == "end" && name == "error" {
						err = nil // there is nothing left to fail
					}
					o.DSN = dsn
					agreed(t, s, o, "claim", lease, &err)
				})
			}
		})
	}
}

// Each process is killed in a step of a shared batch. The next one finds both databases as if the batch had been
// committed, or as if it had never come.
func TestStepsKilled(t *testing.T) {
	all := pgtest.Options(t, "k")
	for _, step := range append(forward.Steps(), forward.Settling) {
		t.Run(step, func(t *testing.T) {
			o := all
			o.Kernel = step
			o.Hold = 3 * time.Second
			path := filepath.Join(t.TempDir(), "belay.db")
			die(t, step, path, &o)
			s := open(t, path, o, forward.Options{Probe: 10 * time.Millisecond})
			defer kill(t, s)
			used := there(t, s, "claim")
			if recorded := slices.Contains([]string{"recorded", "end", forward.Settling}, step); used != recorded {
				t.Errorf("the log has the event: %v", used)
			}
			agreed(t, s, o, "claim", step, nil)
		})
	}
}

const (
	stepVariable   = "BELAY_FORWARD_STEP"
	pathVariable   = "BELAY_FORWARD_PATH"
	schemaVariable = "BELAY_FORWARD_SCHEMA"
	kernelVariable = "BELAY_FORWARD_KERNEL" // and the lease
)

// die runs a process that is killed at the step. For the settling it is two: one that leaves something to settle.
func die(t *testing.T, step, path string, o *postgres.Options) {
	t.Helper()
	if step == forward.Settling {
		die(t, "recorded", path, o)
	}
	c := exec.Command(os.Args[0], "-test.run=^TestChild$")
	c.Env = append(os.Environ(), stepVariable+"="+step, pathVariable+"="+path, schemaVariable+"="+o.Schema,
		kernelVariable+"="+o.Kernel)
	out, err := c.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("the process was not killed in step %s: %v\n%s", step, err, out)
	}
}

// TestChild is the process that is killed.
func TestChild(t *testing.T) {
	step := os.Getenv(stepVariable)
	if step == "" {
		t.Skip("it is run by TestStepsKilled")
	}
	o := postgres.Options{
		DSN:     pgtest.DSN(t),
		Kernel:  os.Getenv(kernelVariable),
		Schema:  os.Getenv(schemaVariable),
		TLS:     postgres.Off,
		Hold:    3 * time.Second,
		AnyRole: true,
	}
	local, err := sqlite.Open(t.Context(), os.Getenv(pathVariable), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	killed := once(step, func() error { return syscall.Kill(os.Getpid(), syscall.SIGKILL) })
	s, err := forward.OpenFaulty(
		t.Context(),
		local,
		o,
		forward.Options{Probe: 10 * time.Millisecond},
		func(at string) error {
			if at != forward.Settling && step == forward.Settling {
				return nil
			}
			if step == forward.Settling || there(t, local, "local") {
				return killed(at)
			}
			return nil
		},
	)
	if err != nil {
		t.Fatal(err)
	}
	if step != forward.Settling {
		commit(t, s, minted(o.Kernel, 3))
		commit(t, s, batch("local"))
		_, err = s.Commit(t.Context(), claimed("claim", o.Kernel))
	}
	time.Sleep(10 * time.Second)
	t.Fatal(fmt.Sprint("it still lives: ", err))
}

// The answer to the commit in PostgreSQL is lost and PostgreSQL is away. The caller waits until it is known what
// happened, others are refused at once, and then all goes on.
func TestLostAnswer(t *testing.T) {
	for name, written := range map[string]bool{"written": true, "not written": false} {
		t.Run(name, func(t *testing.T) {
			p := pgtest.NewProxy(t)
			o := pgtest.Options(t, "k")
			direct := o
			o.DSN = p.DSN(t)
			s := open(t, filepath.Join(t.TempDir(), "belay.db"), o, forward.Options{Probe: 10 * time.Millisecond})
			defer kill(t, s)
			commit(t, s, minted("l", 3))
			lost := make(chan struct{})
			var drop sync.Once
			s.SetFault(once("record", func() error {
				p.Drop(func(b []byte) bool {
					if !bytes.Contains(b, []byte("COMMIT\x00")) {
						return false
					}
					drop.Do(func() { p.Down(true); close(lost) })
					return true
				})
				return nil
			}))
			if !written {
				s.SetFault(once("record", func() error {
					p.Down(true) // what is sent gets nowhere
					close(lost)
					return nil
				}))
			}
			told := make(chan error)
			go func() {
				_, err := s.Commit(t.Context(), claimed("claim", "l"))
				told <- err
			}()
			<-lost
			if written {
				until(t, "refused", func() bool { _, err := s.Commit(t.Context(), batch("probe")); return err != nil })
				begun := time.Now()
				err := refused(t, s, batch("local"))
				var unsettled *sqlite.UnsettledError
				if !errors.As(err, &unsettled) || time.Since(begun) > time.Second {
					t.Errorf("another batch: %v, after %v", err, time.Since(begun))
				}
				refused(t, s, claimed("another", "l"))
				select {
				case err := <-told:
					t.Errorf("the caller was told a guess: %v", err)
				case <-time.After(100 * time.Millisecond):
				}
			}
			p.Drop(nil)
			p.Down(false)
			err := <-told
			if (err == nil) != written {
				t.Errorf("the caller was told %v", err)
			}
			agreed(t, s, direct, "claim", "l", &err)
		})
	}
}
