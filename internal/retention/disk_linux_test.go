package retention_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/internal/recording"
	"github.com/belay-hooks/belay/phases"
)

// fillDisk makes the disk full under the file that is being written in dir.
func fillDisk(t *testing.T, dir string) {
	t.Helper()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range open {
		to, err := os.Readlink("/proc/self/fd/" + e.Name())
		if err != nil || filepath.Dir(to) != dir || filepath.Ext(to) != ".part" {
			continue
		}
		fd, err := strconv.Atoi(e.Name())
		if err != nil {
			t.Fatal(err)
		}
		if err := syscall.Dup3(int(full.Fd()), fd, syscall.O_CLOEXEC); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Fatal("nothing is being written")
}

// A disk that fails in the middle of a file: what had been written can be read, the
// rest is counted, and the next file is whole.
func TestDiskFailsInTheMiddle(t *testing.T) {
	o := newOperator(t)
	o.configure("recipients: [TO]", "on_error: block") // written at once
	b, err := belay.Open(context.Background(), o.state, belay.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	for i := range 4 {
		o.decide(b, fmt.Sprintf("echo %d %s", i, strings.Repeat("z", 40<<10)))
	}
	fillDisk(t, o.dir)
	// The invocation that finds out was decided before the disk was full; the next is blocked.
	for range 2 {
		if v, _ := b.Invoke(context.Background(),
			invocation("echo "+strings.Repeat("z", 70<<10))); v.Decision == phases.Block {
			break
		}
	}
	if v, err := b.Invoke(context.Background(), invocation("ls")); v.Decision != phases.Block ||
		v.Kind != phases.KindStore || err == nil {
		t.Errorf("got %s (%s), %v", v.Decision, v.Kind, err)
	}
	if s := recordings(b); s.OK || s.Lost == 0 || !s.Durable {
		t.Errorf("got %+v", s)
	}
	if o.said(b, "a recording was cut off: kept-") != 1 || o.said(b, "actions are blocked until it can") != 1 {
		t.Errorf("%q", o.notices(b))
	}
	wait(t, "it to go on", func() bool {
		v, _ := b.Invoke(context.Background(), invocation("ls"))
		return v.Decision == phases.Allow
	})
	o.close(b)
	cut := 0
	for _, f := range o.files() {
		runs, _, err := o.read(f)
		if strings.HasSuffix(f, ".cut") {
			cut++
			if len(runs) == 0 || !errors.Is(err, recording.ErrTruncated) {
				t.Errorf("%s: %d runs, %v", f, len(runs), err)
			}
		} else if err != nil || len(runs) == 0 {
			t.Errorf("%s: %d runs, %v", f, len(runs), err)
		}
	}
	if cut != 1 {
		t.Errorf("got %v", o.files())
	}
}
