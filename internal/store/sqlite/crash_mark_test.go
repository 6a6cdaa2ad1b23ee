package sqlite_test

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/belay-hooks/belay/internal/highwater"
	"github.com/belay-hooks/belay/internal/store/sqlite"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/kernel/storetest"
	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
)

const markName = "mark"

// crashMarks is a crashDisk for marks: each write that was not synced may be lost, torn or
// garbled, independently of the others.
type crashMarks struct{ d *crashDisk }

// Open implements highwater.Disk.
func (m crashMarks) Open(path string) (highwater.File, error) {
	m.d.mu.Lock()
	defer m.d.mu.Unlock()
	name := filepath.Base(path)
	if m.d.files[name] == nil {
		return nil, fs.ErrNotExist
	}
	return &crashMark{m.d, name, m.d.files[name]}, nil
}

// Replace implements highwater.Disk.
func (m crashMarks) Replace(path string, b []byte) error {
	m.d.mu.Lock()
	defer m.d.mu.Unlock()
	m.d.onOp() // before the name was changed
	m.d.files[filepath.Base(path)] = &crashFile{durable: append([]byte{}, b...)}
	m.d.onOp()
	return nil
}

type crashMark struct {
	d    *crashDisk
	name string
	f    *crashFile
}

func (m *crashMark) now() []byte {
	b := append([]byte{}, m.f.durable...)
	for _, o := range m.f.pending {
		b = o.apply(b)
	}
	return b
}

func (m *crashMark) ReadAt(b []byte, off int64) (int, error) {
	m.d.mu.Lock()
	defer m.d.mu.Unlock()
	return strings.NewReader(string(m.now())).ReadAt(b, off)
}

func (m *crashMark) WriteAt(b []byte, off int64) (int, error) {
	m.d.mu.Lock()
	defer m.d.mu.Unlock()
	m.f.pending = append(m.f.pending, crashOp{off, append([]byte{}, b...)})
	m.d.onOp()
	return len(b), nil
}

func (m *crashMark) Sync() error {
	m.d.mu.Lock()
	defer m.d.mu.Unlock()
	if !m.d.lies {
		m.f.durable, m.f.pending = m.now(), nil
	}
	m.d.onOp()
	return nil
}

func (m *crashMark) Size() (int64, error) {
	m.d.mu.Lock()
	defer m.d.mu.Unlock()
	return int64(len(m.now())), nil
}

func (m *crashMark) Current() (bool, error) {
	m.d.mu.Lock()
	defer m.d.mu.Unlock()
	return m.d.files[m.name] == m.f, nil
}

func (m *crashMark) Close() error  { return nil }
func (m *crashMark) Lock() error   { return nil }
func (m *crashMark) Unlock() error { return nil }

// standing holds the acknowledged uses of approvals and of the lease.
type standing struct {
	mu     sync.Mutex
	used   map[string]bool // approvals
	claims int64           // of the lease
	minted bool
}

const crashLease = "crash"

func mintForCrashes(t *testing.T, s *sqlite.Store) {
	l := leases.Lease{ID: crashLease, Holder: leases.Holder{Runtime: "r", Session: "s", Agent: "a"},
		Capability: "tool:exec",
		NotBefore:  storetest.T0, ExpiresAt: storetest.T0.Add(time.Hour), MaxTTLS: 3600, MaxUses: 1 << 20,
		State: leases.Active, Token: []byte("t")}
	b := kernel.Batch{Now: storetest.T0, Events: batch("mint").Events,
		Leases: []leases.Op{{Kind: leases.OpMint, At: leases.Instant{Wall: storetest.T0}, Lease: l, Quota: 5}}}
	if _, err := s.Commit(t.Context(), b); err != nil {
		t.Fatal(err)
	}
}

// useUp approves an item, uses the one before, and takes a use of the lease.
func useUp(t *testing.T, s *sqlite.Store, i int, stand *standing, tried *sync.Map) {
	id := func(i int) string { return fmt.Sprintf("item%d", i) }
	d := &approvals.Decision{Verdict: approvals.Approve, At: storetest.T0, Until: storetest.T0.Add(time.Hour)}
	b := kernel.Batch{Now: storetest.T0, Approvals: []approvals.Op{
		{Create: &approvals.Item{ID: id(i), Kind: approvals.KindAsk, Key: id(i), State: approvals.Pending,
			Created: storetest.T0, Expires: storetest.T0.Add(time.Hour)}, Quota: 1 << 20},
		{Change: &approvals.Change{ID: id(i), From: approvals.Pending, To: approvals.Approved, Decision: d,
			At: storetest.Wall(storetest.T0)}},
	}}
	asked := batch("ask-" + id(i)).Events[0]
	tried.Store(asked.ID, true)
	b.Events = append(b.Events, asked)
	if i > 1 {
		e := phases.Event{ID: "use-" + id(i-1), Type: phases.EventApproval, Decision: "consumed", Time: storetest.T0,
			Output: []byte(`{"approval":"` + id(i-1) + `"}`)}
		tried.Store(e.ID, true)
		b.Events = append(b.Events, e)
		b.Approvals = append(b.Approvals,
			approvals.Op{Change: &approvals.Change{ID: id(i - 1), From: approvals.Approved, To: approvals.Consumed,
				At: storetest.Wall(storetest.T0)}})
	}
	b.Leases = []leases.Op{{Kind: leases.OpClaim, At: leases.Instant{Wall: storetest.T0}, ID: crashLease,
		By: leases.Holder{Runtime: "r", Session: "s", Agent: "a"}}}
	if _, err := s.Commit(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	stand.mu.Lock()
	defer stand.mu.Unlock()
	if stand.claims, stand.minted = stand.claims+1, true; i > 1 {
		stand.used[id(i-1)] = true
	}
}

// check returns the fault of an image and its mark, or "": a crash is no regression, every
// acknowledged use stays used, and each use that the database holds was noted before.
func (st *standing) check(t *testing.T, s *sqlite.Store, noted *highwater.State) string {
	if err := s.CheckMark(t.Context()); err != nil {
		return "a crash passes for a regression: " + err.Error()
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	items, err := s.Approvals(t.Context(), approvals.Query{State: approvals.Consumed, Limit: approvals.MaxLimit})
	if err != nil {
		return "the approvals cannot be read: " + err.Error() // t.Fatal would end the writer, whose goroutine this is
	}
	consumed := map[string]bool{}
	for _, it := range items {
		consumed[it.ID] = true
		if noted == nil || noted.Uses[highwater.Approval+it.ID].ID == "" {
			return "the use of " + it.ID + " is in the database, and was not noted before"
		}
	}
	for id := range st.used {
		if !consumed[id] {
			return id + " was used, and can be used again"
		}
	}
	l, err := s.Lease(t.Context(), crashLease)
	if err != nil {
		return "the lease cannot be read: " + err.Error()
	}
	if l == nil {
		if st.minted {
			return "the lease is lost"
		}
		return ""
	}
	var count int64
	if noted != nil {
		count = noted.Uses[highwater.Lease+crashLease].Count
	}
	if l.Uses < st.claims || l.Uses != count {
		return fmt.Sprintf("%d uses of the lease were acknowledged, %d noted, and %d stand", st.claims, count, l.Uses)
	}
	return ""
}
