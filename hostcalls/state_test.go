package hostcalls

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/belay-hooks/belay/phases"
)

// store is a StateReader for tests.
type store struct {
	values map[string]string
	gets   int
	err    error
	extra  int // bytes of keys that are not in values
	keys   int
}

func (s *store) Get(_ context.Context, key string) ([]byte, int64, error) {
	s.gets++
	if s.err != nil {
		return nil, 0, s.err
	}
	v, ok := s.values[key]
	if !ok {
		return nil, 0, nil
	}
	return []byte(v), 7, nil
}

func (s *store) Usage(context.Context) (int, int, error) {
	keys, bytes := s.keys, s.extra
	for k, v := range s.values {
		keys, bytes = keys+1, bytes+len(k)+len(v)
	}
	return keys, bytes, s.err
}

func withState(s *store) func(*SessionConfig) {
	return func(c *SessionConfig) { c.State, c.Limits.Calls = s, 200 }
}

func TestState(t *testing.T) {
	st := &store{values: map[string]string{"a": "1", "b": "2"}}
	u := newTurn(t, withState(st))
	if r := u.do("state_get", "a"); r.Code != 0 || string(r.Out) != "1" {
		t.Errorf("%+v", r)
	}
	u.code(Absent, "state_get", "none")
	u.code(0, "state_put", "a", "\x00\xffbytes")
	if r := u.do("state_get", "a"); string(r.Out) != "\x00\xffbytes" {
		t.Errorf("own write not seen: %q", r.Out)
	}
	u.code(0, "state_put", "b", "")
	u.code(Absent, "state_get", "b")
	u.code(0, "state_put", "c", "3")
	u.code(0, "state_put", "d", "x")
	u.code(0, "state_put", "d", "")
	u.code(Invalid, "state_get", "")
	u.code(Invalid, "state_put", "\xff", "x")
	u.code(TooLarge, "state_put", "e", strings.Repeat("x", MaxStateVal+1))
	u.code(TooLarge, "state_get", strings.Repeat("k", MaxStateKey+1))
	var reads, writes []string
	for _, r := range u.StateReads() {
		reads = append(reads, r.Key)
		if want := map[string]int64{"a": 7, "b": 7}[r.Key]; r.Version != want {
			t.Errorf("version of %s: %d", r.Key, r.Version)
		}
	}
	for _, w := range u.StateWrites() {
		writes = append(writes, w.Key)
		if w.Delete != (w.Key == "b") || w.Version != map[string]int64{"a": 7, "b": 7}[w.Key] {
			t.Errorf("write %+v", w)
		}
	}
	if strings.Join(reads, " ") != "a b c d none" || strings.Join(writes, " ") != "a b c" {
		t.Errorf("reads %v, writes %v", reads, writes)
	}
	if st.gets != 5 || st.values["a"] != "1" {
		t.Errorf("%d gets; the store holds %v", st.gets, st.values)
	}
	u.code(Denied, "reply", "x")
	if u.StateWrites() != nil {
		t.Error("a poisoned turn writes")
	}
}

func TestStateQuota(t *testing.T) {
	full := newTurn(t, withState(&store{values: map[string]string{"a": "1"}, keys: MaxStateKeys - 1}))
	full.code(Budget, "state_put", "new", "x")
	full.code(0, "state_put", "a", "changed")
	full.code(0, "state_put", "a", "")
	full.code(0, "state_put", "new", "x")

	big := newTurn(t, withState(&store{values: map[string]string{"a": strings.Repeat("x", 1000)}, extra: MaxState - 1001}))
	big.code(Budget, "state_put", "b", "x")
	big.code(Budget, "state_put", "a", strings.Repeat("y", 1001))
	big.code(0, "state_put", "a", "y")
	big.code(0, "state_put", "b", strings.Repeat("x", 900))

	many := newTurn(t, withState(&store{}))
	for i := range MaxStateKeys {
		many.code(Absent, "state_get", strings.Repeat("k", i+1))
	}
	many.code(Budget, "state_get", "one more")
	many.code(Budget, "state_put", "one more", "x")
}

func TestStateUnavailable(t *testing.T) {
	u := newTurn(t, nil)
	u.code(Unavailable, "state_get", "a")
	u.code(Unavailable, "state_put", "a", "b")
	newTurn(t, forPhase(phases.Audit)).code(Denied, "state_get", "a")
	st := &store{err: errors.New("disk")}
	broken := newTurn(t, withState(st))
	fails := func(call string, args ...any) {
		t.Helper()
		r, err := broken.try(call, args...)
		f := phases.FaultOf(err)
		if f == nil || f.Kind != phases.KindStore || strings.Contains(f.Text, "disk") {
			t.Errorf("%s: %v", call, err)
		}
		// A tap sees the result next to the fault: a code would look like an answer.
		if d := cmp.Diff(Result{}, r); d != "" {
			t.Errorf("%s: a fault with a result: %s", call, d)
		}
	}
	fails("state_get", "a")
	fails("state_put", "a", "b") // the key cannot be read
	st.err = nil
	broken.code(Absent, "state_get", "a")
	st.err = errors.New("disk")
	fails("state_put", "a", "b") // the usage cannot be read
}
