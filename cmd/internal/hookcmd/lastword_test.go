package hookcmd_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/belay-hooks/belay/cmd/internal/hookcmd"
	"github.com/belay-hooks/belay/internal/notes"
)

// The one with the last word answers, and the other one does not.
func TestInTime(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	hang := make(chan struct{})
	defer close(hang)
	late := func() int { return 7 }
	for name, c := range map[string]struct {
		ctx   context.Context
		work  func(w *hookcmd.LastWord) int
		code  int
		ended bool
	}{
		"work that ends":                   {t.Context(), func(*hookcmd.LastWord) int { return 3 }, 3, true},
		"work that ends within the grace":  {ended, func(*hookcmd.LastWord) int { return 3 }, 3, true},
		"work that does not end":           {ended, func(*hookcmd.LastWord) int { <-hang; return 3 }, 7, false},
		"work that hangs while it answers": {ended, func(w *hookcmd.LastWord) int { w.Take(); <-hang; return 3 }, 2, false},
		"work that ends while it is waited for": {ended, func(w *hookcmd.LastWord) int {
			w.Take()
			time.Sleep(100 * time.Millisecond)
			return 3
		}, 3, true},
	} {
		w := new(hookcmd.LastWord)
		code, ended := hookcmd.InTime(c.ctx, 20*time.Millisecond, w, func() int { return c.work(w) }, late)
		if code != c.code || ended != c.ended {
			t.Errorf("%s: %d, %v", name, code, ended)
		}
		if !ended && w.Take() {
			t.Errorf("%s: work that comes later would answer, too", name)
		}
	}
}

// An event is answered in time in its own form, with a note, when something hangs: here belay,
// which is to decide in place of the daemon.
func TestAnsweredInTimeWhateverHangs(t *testing.T) {
	hang := make(chan struct{})
	defer close(hang)
	for _, told := range []bool{false, true} {
		dir := stateDir(t)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var out, errs bytes.Buffer
		c := hookcmd.Command{
			In: strings.NewReader(payload("PreToolUse")), Out: &out, Err: &errs, Getenv: func(string) string { return "" },
			HandOver: func([]string) error { <-hang; return nil }, Patience: 500 * time.Millisecond,
		}
		if told {
			c.Patience = 4 * time.Second
			cancel()
		}
		answered := make(chan int, 1)
		go func() { answered <- c.Main(ctx, []string{"--runtime", "claude-code", "--state", dir}) }()
		select {
		case code := <-answered:
			left, _ := notes.Read(dir + "/" + notes.SpoolName)
			if code != 2 || len(left) != 1 || left[0].Kind != "deadline" {
				t.Errorf("exit %d, %q, notes %v", code, errs.String(), left)
			}
		case <-time.After(20 * time.Second):
			t.Fatal("no answer")
		}
	}
}

// Work that ends after the answer was given says nothing any more: a runtime reads one answer.
func TestLateWorkDoesNotAnswer(t *testing.T) {
	dir := stateDir(t)
	var out, errs bytes.Buffer
	hang, over := make(chan struct{}), make(chan struct{})
	c := hookcmd.Command{
		In: strings.NewReader(payload("PreToolUse")), Out: &out, Err: &errs, Patience: 500 * time.Millisecond,
		Getenv: func(string) string { return "" },
		HandOver: func([]string) error {
			<-hang
			time.AfterFunc(300*time.Millisecond, func() { close(over) })
			return os.ErrNotExist
		},
	}
	c.Main(t.Context(), []string{"--runtime", "claude-code", "--state", dir})
	before := out.Len() + errs.Len()
	close(hang)
	<-over
	if after := out.Len() + errs.Len(); after != before {
		t.Errorf("two answers: %s %s", out.String(), errs.String())
	}
	if left, _ := notes.Read(dir + "/" + notes.SpoolName); len(left) != 1 {
		t.Errorf("%d notes of one event: %+v", len(left), left)
	}
}

// An event has one note: the first. Who comes later waits for it.
func TestOneNoteOfAnEvent(t *testing.T) {
	w := new(hookcmd.LastWord)
	var left atomic.Int64
	fails := errors.New("disk full")
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			if err := w.Note(func() error { time.Sleep(10 * time.Millisecond); left.Add(1); return fails }); !errors.Is(err,
				fails) {
				t.Errorf("%v", err)
			}
		})
	}
	wg.Wait()
	if n := left.Load(); n != 1 {
		t.Errorf("%d notes", n)
	}
}
