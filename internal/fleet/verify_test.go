package fleet_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/internal/eventlog"
	"github.com/belay-hooks/belay/internal/fleet"
	"github.com/belay-hooks/belay/internal/store/memory"
	"github.com/belay-hooks/belay/internal/store/postgres"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

var t0 = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func key(t testing.TB, b byte) *eventlog.Key {
	t.Helper()
	k, err := eventlog.NewKey(bytes.Repeat([]byte{b}, 32))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// organisation is a Source in memory.
type organisation struct {
	rows    []postgres.KernelRow
	logs    map[int32]kernel.Store
	unowned []int32
	shared  postgres.Shared
	denials []postgres.Denial
	now     time.Time
}

func (o *organisation) Schema() string                          { return "belay" }
func (o *organisation) Time(context.Context) (time.Time, error) { return o.now, nil }
func (o *organisation) Kernels(context.Context) ([]postgres.KernelRow, error) {
	return o.rows, nil
}
func (o *organisation) Unowned(context.Context) ([]int32, error)        { return o.unowned, nil }
func (o *organisation) Shared(context.Context) (postgres.Shared, error) { return o.shared, nil }
func (o *organisation) Denials(context.Context) ([]postgres.Denial, error) {
	return o.denials, nil
}
func (o *organisation) Log(k int32) fleet.Log { return o.logs[k] }
func (o *organisation) row(name string) *postgres.KernelRow {
	for i := range o.rows {
		if o.rows[i].Name == name {
			return &o.rows[i]
		}
	}
	return nil
}

// write makes a log of events with these ids; each head is signed after the event with that number.
func write(t testing.TB, k *eventlog.Key, ids string, heads ...int) kernel.Store {
	t.Helper()
	s := memory.New()
	grow(t, s, k, ids, heads...)
	return s
}

func grow(t testing.TB, s kernel.Store, k *eventlog.Key, ids string, heads ...int) {
	t.Helper()
	for _, id := range strings.Fields(ids) {
		r, err := s.Commit(t.Context(), kernel.Batch{Now: t0, Events: []phases.Event{
			{ID: id, Type: phases.EventNotice, Time: t0}}})
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range heads {
			if int64(h) == r.First {
				head(t, s, k)
			}
		}
	}
}

func head(t testing.TB, s kernel.Store, k *eventlog.Key) {
	t.Helper()
	mark, note, err := eventlog.Mark(t.Context(), s, k, t0)
	if err == nil {
		err = s.AddCheckpoint(t.Context(), mark.Size, note)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// three kernels: a and b write, c has ended.
func three(t testing.TB) (*organisation, fleet.Known) {
	o := &organisation{now: t0.Add(time.Hour), logs: map[int32]kernel.Store{},
		shared: postgres.Shared{Version: 7, Root: "sha256:" + strings.Repeat("07", 32), Kernel: 1, Event: 2}}
	known := fleet.Known{Keys: map[string]string{}, Silent: 10 * time.Minute}
	for i, name := range []string{"a", "b", "c"} {
		k := key(t, byte(i+1))
		o.rows = append(o.rows, postgres.KernelRow{ID: int32(i + 1), Name: name, Host: "host-" + name, Held: name != "c",
			Heard: time.Duration(i) * time.Hour / 2, Owner: "belay"})
		o.logs[int32(i+1)] = write(t, k, "e1 e2 e3 e4 e5", 3, 5)
		known.Keys[name] = k.Verifier()
	}
	o.row("b").Heard = time.Second
	return o, known
}

// said is a report as one line for each kernel.
func said(r fleet.Report) string {
	var b strings.Builder
	for _, k := range r.Kernels {
		fmt.Fprintf(&b, "%s %s", k.Name, k.State)
		for _, f := range k.Findings {
			fmt.Fprintf(&b, "; %s: %s", f.State, f.Text)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func verify(t testing.TB, o *organisation, known fleet.Known) (fleet.Report, *fleet.Memory) {
	t.Helper()
	r, next, err := fleet.Verify(t.Context(), o, known)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "memory") // what the next run reads
	if err := next.Write(path); err != nil {
		t.Fatal(err)
	}
	if next, err = fleet.ReadMemory(path); err != nil {
		t.Fatal(err)
	}
	return r, next
}

// Each case changes something after a first run that found all kernels sound, and says how the second run sees it.
func TestVerifyNames(t *testing.T) {
	other := key(t, 9)
	for _, c := range []struct {
		name   string
		change func(o *organisation, known *fleet.Known)
		want   string // of the first line
		shared string
		ok     bool
	}{
		{"nothing", func(*organisation, *fleet.Known) {},
			"c stopped; stopped: not heard of for 1h0m0s; it ended as it should", "", true},
		{"it goes on", func(o *organisation, _ *fleet.Known) {
			grow(t, o.logs[1], key(t, 1), "e6 e7", 7)
			o.shared.Version = 8
		}, "c stopped", "", true},
		{"silent", func(o *organisation, _ *fleet.Known) { o.row("b").Heard = time.Hour },
			"b silent; silent: not heard of for 1h0m0s, and it has not ended as it should", "", false},
		{"heard of in the future", func(o *organisation, _ *fleet.Known) { o.row("b").Heard = postgres.Never },
			"b silent; silent: its row does not say when it was last heard of, and", "", false},
		{"ended, and expected", func(_ *organisation, known *fleet.Known) { known.Expect = []string{"c"} },
			"c silent; silent: not heard of for 1h0m0s, and it is expected", "", false},
		{"expected, and not there", func(_ *organisation, known *fleet.Known) { known.Expect = []string{"d"} },
			"d missing; missing: it is expected, and has not written yet", "", false},
		{"gone", func(o *organisation, _ *fleet.Known) { o.rows = o.rows[1:] },
			"a missing; missing: it was there on 2026-03-01T13:00:00Z with 5 events, and is gone", "", false},
		{"its row is gone", func(o *organisation, _ *fleet.Known) { o.unowned = []int32{4} },
			"#4 missing; missing: events or hashes of kernel number 4 are there", "", false},
		{"an older copy", func(o *organisation, _ *fleet.Known) { o.logs[1] = write(t, key(t, 1), "e1 e2 e3 e4", 3) },
			"a rolled back; rolled back: event 5 is missing: a checkpoint of 2026-03-01", "", false},
		{"an older copy that went on", func(o *organisation, _ *fleet.Known) {
			o.logs[1] = write(t, key(t, 1), "e1 e2 e3 e4 x5 x6", 3, 6)
		}, "a forked; forked: events 4 to 5 are not those of the checkpoint of 2026-03-01", "", false},
		{"a head of more than there is", func(o *organisation, _ *fleet.Known) {
			longer := write(t, key(t, 1), "e1 e2 e3 e4 e5 e6")
			mark, note, _ := eventlog.Mark(t.Context(), longer, key(t, 1), t0)
			_ = o.logs[1].AddCheckpoint(t.Context(), mark.Size, note)
		}, "a rolled back; rolled back: event 6 is missing", "", false},
		{"a head of another history", func(o *organisation, _ *fleet.Known) {
			mark, note, _ := eventlog.Mark(t.Context(), write(t, key(t, 1), "e1 x2 e3 e4"), key(t, 1), t0)
			_ = o.logs[1].AddCheckpoint(t.Context(), mark.Size, note)
		}, "a forked; forked: events 4 to 4 are not those of the checkpoint", "", false},
		{"a head of another key", func(o *organisation, _ *fleet.Known) { head(t, o.logs[1], other) },
			"a forged; forged: checkpoint 3 in the store: checkpoint not valid", "", false},
		{"the log of another kernel", func(o *organisation, _ *fleet.Known) { o.logs[1] = write(t, other, "o1", 1) },
			"a rolled back", "", false},
		{"another key in the database", func(o *organisation, _ *fleet.Known) { o.row("a").Key = other.Verifier() },
			"a forged; forged: the database says that another key signs its heads than the one that is known (keys)", "", false},
		{"another key than before", func(o *organisation, known *fleet.Known) {
			known.Keys = nil
			o.row("a").Key = other.Verifier()
		}, "a forged; forged: the database says that another key signs its heads than the one that is known (memory)",
			"", false},
		{"no key", func(o *organisation, known *fleet.Known) {
			known.Keys, known.Memory = nil, nil
		}, "a unproven; unproven: no key is known: give it in the file of --keys; `belay events key` prints it on host-a",
			"", false},
		{"no key but one that is none", func(o *organisation, known *fleet.Known) {
			known.Keys, known.Memory = nil, nil
			o.row("a").Key = "a+b+c"
		}, "a unproven", "", false},
		{"two with one key", func(o *organisation, known *fleet.Known) { known.Keys["b"] = known.Keys["a"] },
			"b forged; forged: it signs with the key of kernel a", "", false},
		{"a name that is none", func(o *organisation, _ *fleet.Known) { o.row("a").Name = "a\x1b[2J" },
			"#1 forged; forged: \"a", "", false},
		{"rows that restrict", func(o *organisation, _ *fleet.Known) { o.shared.Wrong = "leases differ" },
			"c stopped", "leases differ", false},
		{"rows that went back", func(o *organisation, _ *fleet.Known) { o.shared.Version = 6 },
			"c stopped", "7 changes were made to what restricts, and 6 are left", false},
		{"rows of another history", func(o *organisation, _ *fleet.Known) {
			o.shared.Root = "sha256:" + strings.Repeat("08", 32)
		}, "c stopped", "after 7 changes other rows restrict than when that was seen before", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			o, known := three(t)
			r, next := verify(t, o, known)
			if !r.OK || said(r) != "c stopped; stopped: not heard of for 1h0m0s; it ended as it should\na ok\nb ok\n" {
				t.Fatalf("at first: %v\n%s", r.OK, said(r))
			}
			known.Memory = next
			o.now = o.now.Add(time.Hour)
			c.change(o, &known)
			r, after := verify(t, o, known)
			if r.OK != c.ok || !strings.HasPrefix(said(r), c.want) || r.Shared.Wrong+r.Shared.Went != c.shared {
				t.Errorf("%v %+v\n%s", r.OK, r.Shared, said(r))
			}
			if known.Memory == nil || c.ok {
				return
			}
			// What is wrong is wrong the next time, too: the memory has not taken it over.
			known.Memory = after
			if again, _ := verify(t, o, known); said(again) != said(r) ||
				again.Shared.Wrong+again.Shared.Went != r.Shared.Wrong+r.Shared.Went {
				t.Errorf("the next time:\n%s", said(again))
			}
		})
	}
}

// A recovery that the log records explains that events which were seen are gone, and that what restricts went back. It
// explains that once: not what goes back after it.
func TestARecoveryExplains(t *testing.T) {
	o, known := three(t)
	k := key(t, 1)
	_, known.Memory = verify(t, o, known)
	back := write(t, k, "e1 e2 e3", 3)
	root, err := eventlog.Root(t.Context(), back, 3)
	if err != nil {
		t.Fatal(err)
	}
	statement, err := eventlog.SignRecovery(k, eventlog.Recovery{Mark: "5:AAAA", By: "dev", Why: "a new disk",
		Checkpoint: eventlog.Checkpoint{Size: 3, Root: root, Time: o.now.Add(time.Minute)}})
	if err != nil {
		t.Fatal(err)
	}
	out, _ := json.Marshal(map[string]string{"statement": string(statement)})
	if _, err := back.Commit(t.Context(), kernel.Batch{Now: t0, Events: []phases.Event{
		{ID: "r", Type: phases.EventRecovery, Time: t0, Output: out}}}); err != nil {
		t.Fatal(err)
	}
	o.logs[1], o.now, o.shared.Version = back, o.now.Add(time.Hour), 5
	r, next := verify(t, o, known)
	if !r.OK || !strings.Contains(r.Shared.Explain, "which a recovery explains") {
		t.Fatalf("%+v\n%s", r.Shared, said(r))
	}
	known.Memory, o.shared.Version = next, 4
	if r, _ = verify(t, o, known); r.OK || r.Shared.Went == "" {
		t.Errorf("once more: %+v\n%s", r.Shared, said(r))
	}
	o.shared.Version = 5
	grow(t, back, k, "e5 e6", 6)
	_, known.Memory = verify(t, o, known)
	again := write(t, k, "e1 e2 e3", 3) // the old events, and the recovery, but not those behind it
	if _, err := again.Commit(t.Context(), kernel.Batch{Now: t0, Events: []phases.Event{
		{ID: "r", Type: phases.EventRecovery, Time: t0, Output: out}}}); err != nil {
		t.Fatal(err)
	}
	o.logs[1] = again
	if r, _ = verify(t, o, known); r.OK || r.Kernels[0].State != fleet.RolledBack {
		t.Errorf("a log that goes back behind its recovery: %s", said(r))
	}
}

func TestMemoryOfAnotherSchema(t *testing.T) {
	o, known := three(t)
	known.Memory = &fleet.Memory{Schema: "other", At: t0}
	if _, _, err := fleet.Verify(t.Context(), o, known); err == nil || !strings.Contains(err.Error(), `schema "other"`) {
		t.Error(err)
	}
}

// A file from outside is taken as it is meant, or not at all.
func TestBadFiles(t *testing.T) {
	o, known := three(t)
	_, m := verify(t, o, known)
	good := filepath.Join(t.TempDir(), "good")
	if err := m.Write(good); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	for old, c := range map[string][2]string{
		`"version": 1`:       {`"version": 2`, "/version: 2 is none"},
		`"schema": "belay"`:  {`"schema": "belay", "x": 1`, "unknown object member name"},
		`"at": "`:            {`"at": "2026-03-01T13:00:00Z", "at": "`, "duplicate object member name"},
		`"kernel": "a"`:      {`"kernel": "A"`, `/kernels/0/kernel: "A" is no name`},
		`"kernel": "b"`:      {`"kernel": "a"`, `/kernels/1/kernel: "a" is not behind "a"`},
		`"size": 5`:          {`"size": -1`, "/kernels/0: size, root or time cannot be"},
		`"root": "sha256:07`: {`"root": "sha256:zz`, "/shared/root: want sha256"},
		m.Kernels[0].Key:     {"x", "/kernels/0/key: it is no verifier key"},
		`"size":`:            {`"size": "5", "x":`, "/kernels/0/size"},
	} {
		bad := strings.Replace(text, old, c[0], 1)
		if bad == text {
			t.Fatalf("%s does not stand there", old)
		}
		path := filepath.Join(t.TempDir(), "memory")
		if err := os.WriteFile(path, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := fleet.ReadMemory(path); err == nil || !strings.Contains(err.Error(), c[1]) {
			t.Errorf("%s: %v", c[0], err)
		}
	}
	v := key(t, 1).Verifier()
	for src, want := range map[string]string{
		"":                         "holds no key",
		"# a " + v:                 "holds no key",
		"a":                        ":1: want the name of a kernel and its key",
		"# first\n\na " + v + " x": ":3: want the name",
		"A " + v:                   `:1: "A" is no name`,
		"a x":                      ":1: what follows a is no key",
		"a " + v + "\na " + v:      ":2: kernel a has a key already",
		"\xff " + v:                ":1: it is no UTF-8",
	} {
		path := filepath.Join(t.TempDir(), "keys")
		if err := os.WriteFile(path, []byte(src), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := fleet.ReadKeys(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", src, err)
		}
	}
	path := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(path, []byte("# of the fleet\n a\t"+v+"\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := fleet.ReadKeys(path); err != nil || got["a"] != v {
		t.Error(got, err)
	}
}

// What all kernels deny is what an event records, and the other way round.
func TestDenialsAreThoseOfTheLogs(t *testing.T) {
	body := []byte(`{"id":"x"}`)
	name := [16]byte{1}
	for _, c := range []struct {
		name   string
		change func(o *organisation, noted int64)
		want   string
	}{
		{"as recorded", func(o *organisation, noted int64) {}, ""},
		{"a body of another", func(o *organisation, _ int64) { o.denials[0].Body = []byte("{}") },
			"forged: row 1 of what all kernels deny is not what event 6 records"},
		{"another event", func(o *organisation, _ int64) { o.denials[0].Seq = 2 },
			"forged: row 1 of what all kernels deny is not what event 2 records"},
		{"an event that is not there", func(o *organisation, _ int64) { o.denials[0].Seq = 99 },
			"forged: row 1 of what all kernels deny is not what event 99 records"},
		{"another name", func(o *organisation, _ int64) { o.denials[0].Name = [16]byte{2} },
			"forged: row 1 of what all kernels deny"},
		{"the row is gone", func(o *organisation, _ int64) { o.denials = nil },
			"event 6 of kernel a denies something for all kernels, and no row says so"},
		{"the row is under way", func(o *organisation, _ int64) { o.denials, o.now = nil, t0.Add(time.Second) }, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			o, known := three(t)
			out, err := json.Marshal(kernel.DenialNote{ID: "01000000-0000-0000-0000-000000000000",
				Digest: phases.ByteDigest(body)})
			if err != nil {
				t.Fatal(err)
			}
			r, err := o.logs[1].Commit(t.Context(), kernel.Batch{Now: t0, Events: []phases.Event{{ID: "d", Time: t0,
				Type: phases.EventNotice, Decision: kernel.DecisionDeniedForAll, Output: out}}})
			if err != nil {
				t.Fatal(err)
			}
			o.denials = []postgres.Denial{{ID: 1, Name: name, Kernel: 1, By: "a", Seq: r.First, Body: body}}
			c.change(o, r.First)
			got, _ := verify(t, o, known)
			text := said(got) + strings.Join(got.Shared.Denials, "")
			if got.OK != (c.want == "") || !strings.Contains(text, c.want) {
				t.Errorf("%v %s", got.OK, text)
			}
		})
	}
}

// A kernel that is found forged only by what all kernels deny is not remembered as it is.
func TestWhatIsFoundForgedLaterIsNotRemembered(t *testing.T) {
	o, known := three(t)
	_, known.Memory = verify(t, o, known)
	before := known.Memory.Kernels[0]
	grow(t, o.logs[1], key(t, 1), "e6 e7", 7)
	o.denials = []postgres.Denial{{ID: 1, Kernel: 1, By: "a", Seq: 2, Body: []byte("{}")}}
	r, next := verify(t, o, known)
	if r.OK || !strings.Contains(said(r), "a forged; forged: row 1 of what all kernels deny") {
		t.Fatal(said(r))
	}
	if got := next.Kernels[0]; len(next.Kernels) != 3 || got.Name != "a" || got.Size != before.Size {
		t.Errorf("remembered: %+v, before: %+v", next.Kernels, before)
	}
	_, first := verify(t, o, fleet.Known{Keys: known.Keys, Silent: known.Silent})
	if len(first.Kernels) != 2 || first.Kernels[0].Name != "b" {
		t.Errorf("remembered at the first time: %+v", first.Kernels)
	}
}

// A kernel writes many events and rows of denials that do not belong together: the report names the first ones of each,
// and counts the others.
func TestManyDenialsAreCounted(t *testing.T) {
	o, known := three(t)
	const many = 250
	for n := range many {
		note, err := json.Marshal(kernel.DenialNote{ID: "01000000-0000-0000-0000-000000000000",
			Digest: phases.ByteDigest(fmt.Append(nil, n))})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := o.logs[1].Commit(t.Context(), kernel.Batch{Now: t0, Events: []phases.Event{{ID: fmt.Sprint("d", n),
			Time: t0, Type: phases.EventNotice, Decision: kernel.DecisionDeniedForAll, Output: note}}}); err != nil {
			t.Fatal(err)
		}
		o.denials = append(o.denials,
			postgres.Denial{ID: int64(n), Kernel: 2, By: "b", Seq: 2, Body: fmt.Append(nil, "b", n)})
	}
	r, _ := verify(t, o, known)
	if n := len(r.Shared.Denials); n != 101 || r.Shared.Denials[100] != "and 150 more events deny something of which "+
		"no row says so" {
		t.Errorf("%d denials, the last one %q", n, r.Shared.Denials[n-1])
	}
	for _, k := range r.Kernels {
		if n := len(k.Findings); k.Name == "b" && (n != 101 || k.Findings[100].Text != "and so are 150 more rows of what "+
			"all kernels deny") {
			t.Errorf("%d findings: %+v", n, k.Findings[n-1])
		}
	}
}
