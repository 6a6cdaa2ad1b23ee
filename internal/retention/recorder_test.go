package retention_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/recording"
	"github.com/belay-hooks/belay/internal/retention"
	"github.com/belay-hooks/belay/internal/sink"
	"github.com/belay-hooks/belay/phases"
)

const hooks = `hooks:
  - name: guard
    module: builtin:command-guard
    priority: 100
    capabilities: [block, request_approval, shell_parse, pattern_match]
    budget: {deadline_ms: 5000}
  - name: stages
    module: builtin:classify-message
    capabilities: [annotate, pattern_match]
    budget: {deadline_ms: 5000}
`

// A retained recording is complete, sealed, for its owner only, and replays call by call.
func TestKeptIsWholeAndReplays(t *testing.T) {
	o := newOperator(t)
	o.configure("recipients: [TO]")
	b := o.open()
	o.decide(b, "ls -la", "rm -rf /", "echo secret-of-the-operator")
	st, err := b.Status(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	last := st.Sinks[len(st.Sinks)-1]
	o.close(b)
	if last.Kind != wire.SinkRecordings || !last.OK || last.Durable || last.Path != o.dir {
		t.Errorf("got %+v", last)
	}
	files := o.files()
	if len(files) != 1 || !strings.HasSuffix(files[0], ".rec.age") {
		t.Fatalf("got %v", files)
	}
	raw, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(raw, []byte("secret-of")) {
		t.Error("it is not sealed")
	}
	for path, mode := range map[string]os.FileMode{files[0]: 0o600, o.dir: 0o700} {
		if fi, err := os.Stat(path); err != nil || fi.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", path, fi.Mode(), err)
		}
	}
	o.replay(files[0], 3)
	runs, _, _ := o.read(files[0])
	if !bytes.Contains(runs[2].Invocation, []byte("secret-of-the-operator")) {
		t.Error("it is no original")
	}
}

// Nothing is kept unless the configuration says so, and that it does is logged
// once, however many processes come and go.
func TestBeginningAndEndAreEvents(t *testing.T) {
	o := newOperator(t)
	o.configure()
	b := o.open()
	o.decide(b, "ls")
	if n := o.said(b, "keeping of full inputs"); n != 0 {
		t.Errorf("%d notices without a policy", n)
	}
	o.close(b)
	if len(o.files()) != 0 {
		t.Error("something was kept by default")
	}
	o.configure("recipients: [TO]")
	for range 3 {
		b = o.open()
		o.decide(b, "ls")
		if n := o.said(b, "keeping of full inputs began: in "+o.dir+", sealed for "+o.to); n != 1 {
			t.Errorf("%d notices of the beginning: %q", n, o.notices(b))
		}
		o.close(b)
	}
	if n := len(o.files()); n != 3 {
		t.Errorf("%d files of 3 processes", n)
	}
	o.configure("recipients: [TO]", "phases: [pre_tool]")
	b = o.open()
	if n := o.said(b, "keeping of full inputs changed: in "+o.dir); n != 1 {
		t.Errorf("%q", o.notices(b))
	}
	o.configure()
	if err := b.Reload(context.Background()); err != nil {
		t.Fatal(err)
	}
	if n := o.said(b, "keeping of full inputs ended; it was: in "+o.dir); n != 1 {
		t.Errorf("%q", o.notices(b))
	}
	o.decide(b, "ls")
	o.close(b)
	if n := len(o.files()); n != 3 {
		t.Errorf("%d files: something was kept after the end", n)
	}
	// Every notice was made under a revision, like everything else.
	log := o.open()
	list, err := log.Events(context.Background(), wire.Query{Type: phases.EventNotice, Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		if e.PolicyRevision == "" {
			t.Errorf("%s: no revision", e.Reason)
		}
	}
}

// A policy that cannot be followed does not open, with its line.
func TestPoliciesThatAreRefused(t *testing.T) {
	o := newOperator(t)
	link := filepath.Join(filepath.Dir(o.state), "link")
	if err := os.Symlink(o.state, link); err != nil {
		t.Fatal(err)
	}
	bad := o.to[:len(o.to)-1] + "q"
	if bad == o.to {
		bad = o.to[:len(o.to)-1] + "p"
	}
	dir := o.dir
	for name, c := range map[string]struct{ dir, line, want string }{
		"a checksum":          {dir, "recipients: [" + bad + "]", "belay.yaml:22: /recordings/recipients/0: "},
		"the state directory": {o.state, "recipients: [TO]", "belay.yaml:21: /recordings/dir: is in the state directory"},
		"below it": {o.state + "/rec", "recipients: [TO]",
			"belay.yaml:21: /recordings/dir: is in the state directory"},
		"by a link": {link + "/rec", "recipients: [TO]",
			"belay.yaml:21: /recordings/dir: is in the state directory"},
		"by .. behind a link": {link + "/x/../rec", "recipients: [TO]", "belay.yaml:21: /recordings/dir: "},
		"nobody can open it":  {dir, "keep: 1d", "belay.yaml:20: /recordings/recipients: is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			o.dir = c.dir
			o.configure(c.line)
			b, err := belay.Open(context.Background(), o.state, belay.Options{})
			if b != nil {
				b.Close()
			}
			if !errors.Is(err, belay.ErrConfig) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			// It is no reason not to look at the records.
			if b, err = belay.Open(context.Background(), o.state, belay.Options{NoHooks: true}); err != nil {
				t.Fatal(err)
			}
			b.Close()
		})
	}
	// What leaves no record leaves no recording.
	o.dir = dir
	o.configure("recipients: [TO]")
	b, err := belay.Open(context.Background(), o.state, belay.Options{InMemory: true})
	if err != nil {
		t.Fatal(err)
	}
	o.decide(b, "ls")
	o.close(b)
	if len(o.files()) != 0 {
		t.Error("a belay in memory has kept something")
	}
}

// A reload that cannot follow the policy changes nothing; one that can turns the file.
func TestReload(t *testing.T) {
	o := newOperator(t)
	o.configure("recipients: [TO]")
	b := o.open()
	o.decide(b, "one")
	dir := o.dir
	o.dir = o.state + "/in"
	o.configure("recipients: [TO]")
	if err := b.Reload(context.Background()); !errors.Is(err, belay.ErrConfig) {
		t.Errorf("got %v", err)
	}
	o.dir = dir
	o.decide(b, "two")
	o.configure("recipients: [TO]")
	if err := b.Reload(context.Background()); err != nil {
		t.Fatal(err)
	}
	wait(t, "the file to be ended", func() bool { return len(whole(o.files())) == 1 })
	o.decide(b, "three")
	o.configure("unsafe_plaintext: true")
	if err := b.Reload(context.Background()); err != nil {
		t.Fatal(err)
	}
	o.decide(b, "four")
	o.close(b)
	var runs []int
	for _, f := range o.files() {
		r, _, err := o.read(f)
		if err != nil {
			t.Error(err)
		}
		runs = append(runs, len(r))
		if len(runs) == 3 != strings.HasSuffix(f, ".rec") {
			t.Errorf("%s", f)
		}
	}
	if fmt.Sprint(runs) != "[2 1 1]" {
		t.Errorf("got %v", runs)
	}
}

func whole(files []string) []string {
	var out []string
	for _, f := range files {
		if !retention.Unfinished(f) {
			out = append(out, f)
		}
	}
	return out
}

func wait(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited for %s", what)
		}
	}
}

// Only inputs that the policy names are retained.
func TestFilter(t *testing.T) {
	o := newOperator(t)
	o.configure("recipients: [TO]", "phases: [pre_tool, pre_plan]", "tools: ^exec$")
	b := o.open()
	for _, inv := range []phases.Invocation{
		invocation("ls"),
		{Phase: phases.PreTool, Action: []byte(`{"tool":"write","args":{"path":"/x","content":"y"}}`)},
		{Phase: phases.PrePlan, Session: "s", Run: "r", Action: []byte(`{"kind":"message","text":"why?"}`)},
		{Phase: phases.PostTool, Action: []byte(`{"tool":"exec","args":{},"result":"x"}`)},
	} {
		if _, err := b.Invoke(context.Background(), inv); err != nil {
			t.Fatal(err)
		}
	}
	o.close(b)
	runs, _, err := o.read(o.files()[0])
	if err != nil || len(runs) != 2 || !bytes.Contains(runs[0].Invocation, []byte(`"ls"`)) ||
		!bytes.Contains(runs[1].Invocation, []byte("why?")) {
		t.Errorf("%d runs, %v", len(runs), err)
	}
}

// Files are ended by age and size, each a recording of its own; the oldest go when
// there is too much, and that is logged.
func TestRotationAndRetention(t *testing.T) {
	o := newOperator(t)
	o.configure("unsafe_plaintext: true", "rotate_mib: 1", "max_mib: 3", "rotate: 1h")
	b := o.open()
	big := strings.Repeat("x", 300<<10)
	for i := range 24 { // about 7 MiB and more
		o.decide(b, fmt.Sprintf("echo %d %s", i, big))
	}
	o.close(b)
	files := o.files()
	var total int64
	runs := 0
	for _, f := range files {
		fi, err := os.Stat(f)
		if err != nil {
			t.Fatal(err)
		}
		total += fi.Size()
		r, _, err := o.read(f)
		if err != nil {
			t.Errorf("%s is no whole recording: %v", f, err)
		}
		runs += len(r)
	}
	if len(files) < 2 || total > 3<<20 || runs == 0 || runs >= 24 {
		t.Errorf("%d files, %d bytes, %d runs", len(files), total, runs)
	}
	b = o.open()
	if o.said(b, "to stay below 3 MiB") == 0 {
		t.Errorf("%q", o.notices(b))
	}
	o.close(b)

	// By age: files older than keep go with the next file.
	old := filepath.Join(o.dir, "kept-20200101T000000.000Z-0123456789abcdef.rec")
	mine := filepath.Join(o.dir, "kept-by-hand.rec")
	for _, f := range []string{old, mine} {
		if err := os.WriteFile(f, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b = o.open()
	o.decide(b, "ls")
	o.close(b)
	if _, err := os.Stat(old); err == nil {
		t.Error("what is too old is still there")
	}
	if _, err := os.Stat(mine); err != nil {
		t.Error("a file that no keeper made was removed")
	}
	b = o.open()
	if o.said(b, "1 older than 720h0m0s") != 1 {
		t.Errorf("%q", o.notices(b))
	}
	o.close(b)

	// By time.
	o.configure("recipients: [TO]", "rotate: 1s")
	b = o.open()
	o.decide(b, "ls")
	n := len(whole(o.files()))
	wait(t, "a file of one second", func() bool { return len(whole(o.files())) > n })
}

// The file of a crashed process is recognised, reported, and readable as far as it was written.
func TestCrash(t *testing.T) {
	o := newOperator(t)
	o.configure("recipients: [TO]")
	b := o.open()
	for i := range 8 {
		o.decide(b, fmt.Sprintf("echo %d %s", i, strings.Repeat("y", 40<<10)))
	}
	var part []string
	wait(t, "pieces on the disk", func() bool {
		part = o.files()
		if len(part) != 1 {
			return false
		}
		fi, err := os.Stat(part[0])
		return err == nil && fi.Size() > 256<<10
	})
	// What the disk has now is what a kill would leave: the same under the name of
	// another process, which holds no lock.
	at := time.Now().UTC().Add(-time.Hour).Format("20060102T150405")
	left := filepath.Join(o.dir, "kept-"+at+".000Z-0123456789abcdef.rec.age.part")
	raw, err := os.ReadFile(part[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(left, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	empty := filepath.Join(o.dir, "kept-"+at+".001Z-0123456789abcdef.rec.age.part")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	other := o.open() // another process, while the first one lives
	o.decide(other, "ls")
	wait(t, "the leftover to be said", func() bool {
		return o.said(other, "a process ended while it wrote kept-"+at+".000Z-0123456789abcdef.rec.age.cut; ") == 1
	})
	var cut string
	for _, f := range o.files() {
		if strings.HasSuffix(f, ".cut") {
			cut = f
		}
	}
	if _, err := os.Stat(part[0]); err != nil {
		t.Error("a file that is being written was taken for a leftover")
	}
	if _, err := os.Stat(empty); err == nil {
		t.Error("a leftover with nothing in it stays")
	}
	runs, _, err := o.read(cut)
	if len(runs) == 0 || len(runs) >= 8 || !errors.Is(err, recording.ErrTruncated) {
		t.Errorf("%d runs, %v", len(runs), err)
	}
	if !bytes.Contains(runs[0].Invocation, []byte("echo 0")) {
		t.Error("it is not what was written")
	}
	o.close(other)
	o.close(b)
	if n := len(whole(o.files())); n != 2 {
		t.Errorf("%d whole files of 2 processes: %v", n, o.files())
	}
}

// While nothing can be kept actions go on, and that is counted, said and shown; with
// block nothing goes on.
func TestNothingCanBeKept(t *testing.T) {
	if os.Getuid() == 0 {
		t.Log("as root the directory is made unusable by its mode, which is looked at")
	}
	for _, block := range []bool{false, true} {
		t.Run(fmt.Sprint("block ", block), func(t *testing.T) {
			o := newOperator(t)
			lines := []string{"recipients: [TO]"}
			if block {
				lines = append(lines, "on_error: block")
			}
			o.configure(lines...)
			if err := os.MkdirAll(o.dir, 0o755); err != nil {
				t.Fatal(err)
			}
			b := o.open()
			for range 3 {
				v, err := b.Invoke(context.Background(), invocation("ls"))
				if block != (v.Decision == phases.Block && v.Kind == phases.KindStore && err != nil) {
					t.Errorf("got %s (%s): %s, %v", v.Decision, v.Kind, v.Reason, err)
				}
			}
			if !block {
				wait(t, "the losses", func() bool { return recordings(b).Lost == 3 })
			}
			st, err := b.Status(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			want := wire.HealthDegraded
			if block {
				want = wire.HealthFailing
			}
			if st.Health != want {
				t.Errorf("health is %s: %v %v", st.Health, st.Problems, st.Warnings)
			}
			if s := recordings(b); s.OK || s.Trouble != string(sink.NoAccess) || s.Since.IsZero() {
				t.Errorf("got %+v", s)
			}
			if n := o.said(b, "full inputs cannot be kept in "+o.dir+" (no_access)"); n != 1 {
				t.Errorf("%d notices: %q", n, o.notices(b))
			}
			if err := os.Chmod(o.dir, 0o700); err != nil {
				t.Fatal(err)
			}
			wait(t, "it to go on", func() bool {
				v, _ := b.Invoke(context.Background(), invocation("again"))
				return v.Decision == phases.Allow && (block || recordings(b).Kept > 0)
			})
			if n := o.said(b, "full inputs are kept again in "+o.dir); n != 1 {
				t.Errorf("%q", o.notices(b))
			}
			o.close(b)
			if n := len(whole(o.files())); n != 1 {
				t.Errorf("%d files", n)
			}
		})
	}
}

func recordings(b *belay.Belay) wire.Sink {
	st, _ := b.Status(context.Background())
	for _, s := range st.Sinks {
		if s.Kind == wire.SinkRecordings {
			return s
		}
	}
	return wire.Sink{}
}

// Many at once: every one of them is kept or counted.
func TestManyAtOnce(t *testing.T) {
	o := newOperator(t)
	o.configure("recipients: [TO]", "rotate: 1s")
	b := o.open()
	const each, all = 60, 8
	var group sync.WaitGroup
	for w := range all {
		group.Go(func() {
			for i := range each {
				if _, err := b.Invoke(context.Background(), invocation(fmt.Sprintf("echo %d %d", w, i))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	o.close(b)
	runs := 0
	for _, f := range o.files() {
		r, _, err := o.read(f)
		if err != nil {
			t.Error(err)
		}
		runs += len(r)
	}
	lost := 0
	b = o.open()
	for _, n := range o.notices(b) {
		var x int
		if _, err := fmt.Sscanf(n, "full inputs: %d invocations were not kept", &x); err == nil {
			lost += x
		}
	}
	if runs+lost != each*all || runs == 0 {
		t.Errorf("%d kept and %d lost of %d: %q", runs, lost, each*all, o.notices(b))
	}
}

// machine is the clocks of a machine whose wall clock is set.
type machine struct {
	wall  atomic.Int64 // Unix seconds
	since atomic.Int64 // seconds
}

func (m *machine) Now() time.Time { return time.Unix(m.wall.Load(), 0) }
func (m *machine) Boot() (string, time.Duration) {
	return "b1", time.Duration(m.since.Load()) * time.Second
}

// A jump of the clock makes no recording too old; the days that pass do.
func TestJumpRemovesNoRecording(t *testing.T) {
	o := newOperator(t)
	o.configure("unsafe_plaintext: true")
	const day = 24 * 60 * 60
	old := filepath.Join(o.dir, "kept-20200101T000000.000Z-0123456789abcdef.rec")
	m := &machine{}
	m.wall.Store(time.Date(2020, 1, 2, 0, 0, 0, 0, time.UTC).Unix())
	b := o.open(func(p *belay.Options) { p.Clock = m })
	if err := os.MkdirAll(o.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(old, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		passed, set int64
		there       bool
	}{{0, 0, true}, {0, 3650 * day, true}, {28 * day, 0, true}, {0, -5000 * day, true}, {0, 10000 * day, true}} {
		m.wall.Add(row.passed + row.set)
		m.since.Add(row.passed)
		o.decide(b, "ls")
		o.close(b)
		if _, err := os.Stat(old); (err == nil) != row.there {
			t.Errorf("after %+v: there %v", row, err == nil)
		}
		b = o.open(func(p *belay.Options) { p.Clock = m })
	}
	o.close(b)
	// Another boot goes by the wall clock.
	b = o.open()
	o.decide(b, "ls")
	o.close(b)
	if _, err := os.Stat(old); err == nil {
		t.Error("what is too old is still there")
	}
}
