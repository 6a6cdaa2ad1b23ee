package cli_test

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"golang.org/x/sys/unix"

	"github.com/belay-hooks/belay/client"
	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/daemonapi"
	"github.com/belay-hooks/belay/phases"
)

// smallDisk is a disk that a test can fill. Where file systems can be mounted it is a
// tmpfs that holds the whole state directory. Elsewhere the daemon gets a limit on the
// size of its files, which the same calls answer with another error.
type smallDisk struct {
	dir  string
	fill func(t *testing.T, p *process)
	free func(t *testing.T, p *process)
}

func newSmallDisk(t *testing.T) smallDisk {
	d := smallDisk{dir: shortDir(t)}
	err := unix.Mount("tmpfs", d.dir, "tmpfs", 0, "size=12m,mode=700")
	if err != nil {
		t.Logf("no tmpfs here (%v): a limit on the size of files instead", err)
		d.fill = func(t *testing.T, p *process) { limitFiles(t, p, largest(t, d.dir)) }
		d.free = func(t *testing.T, p *process) { limitFiles(t, p, unix.RLIM_INFINITY) }
		return d
	}
	t.Cleanup(func() {
		if err := unix.Unmount(d.dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	ballast := filepath.Join(d.dir, "ballast")
	d.fill = func(t *testing.T, _ *process) {
		f, err := os.OpenFile(ballast, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		for err == nil {
			_, err = f.Write(make([]byte, 4096))
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
	}
	d.free = func(t *testing.T, _ *process) {
		if err := os.Remove(ballast); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

func limitFiles(t *testing.T, p *process, size uint64) {
	t.Helper()
	var now unix.Rlimit
	if err := unix.Prlimit(p.cmd.Process.Pid, unix.RLIMIT_FSIZE, nil, &now); err != nil {
		t.Fatal(err)
	}
	now.Cur = min(size, now.Max)
	if err := unix.Prlimit(p.cmd.Process.Pid, unix.RLIMIT_FSIZE, &now, nil); err != nil {
		t.Fatal(err)
	}
}

// largest returns the size of the largest of the files that are appended to.
func largest(t *testing.T, dir string) uint64 {
	var n int64
	for _, name := range []string{"events.jsonl", "belay.db-wal"} {
		if fi, err := os.Stat(filepath.Join(dir, name)); err == nil {
			n = max(n, fi.Size())
		}
	}
	return uint64(n)
}

// healthOf asks without a token and without the client.
func healthOf(t *testing.T, dir string) (int, wire.Health) {
	t.Helper()
	c := http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", filepath.Join(dir, daemonapi.SocketName))
	}}}
	defer c.CloseIdleConnections()
	resp, err := c.Get("http://belay/healthz")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var h wire.Health
	if err := json.UnmarshalRead(resp.Body, &h); err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, h
}

// A disk fills up under a loaded daemon: every action is refused and health is
// red, the spool is bounded, and when there is space again everything goes on
// by itself.
func TestFullDisk(t *testing.T) {
	d := newSmallDisk(t)
	initState(t, d.dir)
	p := serveProcess(t, d.dir)
	c, err := client.Dial(d.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	sent, refused := map[string]*shot{}, 0
	ask := func() *shot {
		s, inv := newShot(t, "rm -rf / # "+strings.Repeat("x", 2000))
		sent[s.id] = s
		if s.v, s.err = c.Invoke(t.Context(), inv); s.v.Event == nil {
			refused++
			if s.v.Decision != phases.Block || s.v.Kind != phases.KindStore {
				t.Fatalf("without a record: %+v, %v", s.v, s.err)
			}
		}
		return s
	}
	for range 50 {
		if s := ask(); s.v.Event == nil {
			t.Fatalf("before the disk is full: %+v", s.v)
		}
	}
	// The database reuses space that it has, and gives some back when a write fails: it
	// is full when nothing has gone through for a while.
	for inRow, tries := 0, 0; inRow < 20; tries++ {
		if tries > 3000 {
			t.Fatal("the disk does not get full")
		}
		d.fill(t, p)
		if inRow++; ask().v.Event != nil {
			inRow = 0
		}
	}
	time.Sleep(1100 * time.Millisecond) // what /healthz answers is a second old at most
	for range 3 {
		status, h := healthOf(t, d.dir)
		if status != http.StatusServiceUnavailable || h.OK || h.State != "failing" || len(h.Sinks) != 3 {
			t.Errorf("healthz: %d %+v", status, h)
		}
		word := ""
		for _, k := range h.Sinks {
			word += k.Trouble + " "
		}
		if !strings.Contains(word, "disk_full") {
			t.Errorf("healthz does not say why: %+v", h)
		}
	}
	if out, code := p.belay(t, "status"); code != 1 || !strings.Contains(out, "NOT READY") ||
		!strings.Contains(out, "disk is full") {
		t.Errorf("status: exit %d: %s", code, out)
	}
	if out, code := p.belay(t, "doctor"); code != 1 || !strings.Contains(out, "disk full") {
		t.Errorf("doctor: exit %d: %s", code, out)
	}
	for range 600 { // more than the spool holds
		if s := ask(); s.v.Event != nil {
			t.Fatalf("on a full disk: %+v", s.v)
		}
	}
	if n := spoolSize(t, d.dir); n > 300<<10 {
		t.Errorf("the spool has %d bytes", n)
	}

	d.free(t, p)
	s := ask()
	if s.v.Event == nil {
		t.Fatalf("with space again: %+v, %v", s.v, s.err)
	}
	time.Sleep(1100 * time.Millisecond)
	if status, h := healthOf(t, d.dir); status != http.StatusOK || !h.OK || h.State != "ok" {
		t.Errorf("healthz afterwards: %d %+v", status, h)
	}
	if out, code := p.belay(t, "status"); code != 0 {
		t.Errorf("status afterwards: %s", out)
	}
	if n := inGaps(t, p); n != refused {
		t.Errorf("gap events tell of %d actions, %d were refused without a record", n, refused)
	}
	if n := spoolSize(t, d.dir); n != 0 {
		t.Errorf("%d bytes are left in the spool", n)
	}
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Wait(); err != nil {
		t.Errorf("the daemon: %v: %s", err, p.log.String())
	}
	check(t, p, sent)
	sound(t, p)
	t.Logf("%d asked, %d refused", len(sent), refused)
}

func spoolSize(t *testing.T, dir string) (n int64) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "spool.jsonl*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		fi, err := os.Stat(f)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		n += fi.Size()
	}
	return n
}

// inGaps returns how many actions the gap events say were blocked without a record.
func inGaps(t *testing.T, p *process) (n int) {
	t.Helper()
	out, code := p.belay(t, "events", "query", "--json", "--type", "gap", "--limit", "1000")
	if code != 0 {
		t.Fatal(out)
	}
	for line := range strings.Lines(out) {
		var e phases.Event
		var gap struct {
			Blocked int `json:"blocked"`
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			continue // a warning
		}
		if err := json.Unmarshal(e.Output, &gap); err != nil {
			t.Fatal(err)
		}
		n += gap.Blocked
	}
	return n
}
