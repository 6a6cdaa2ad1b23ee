package hostcalls

import (
	"context"
	"slices"
	"sort"
	"unicode/utf8"

	"github.com/belay-hooks/belay/phases"
)

// stateView is what a turn knows of its hook's state: the entries it has looked
// at, with their versions, and its own writes on top. A hook sees its own
// writes, unlike its effects: state is its notebook, and counters go wrong
// where a hook has to remember its last write.
type stateView struct {
	entries     map[string]*stateEntry
	usageKnown  bool
	keys, bytes int // of the whole namespace, own writes included
}

type stateEntry struct {
	version int64
	before  []byte // as the store has it; nil when version is 0
	value   []byte // as the turn sees it; nil when absent
	written bool
}

// entry looks at a key once; later looks answer from memory, so that a turn sees
// one consistent value. It is nil when the turn has looked at MaxStateKeys other keys.
func (s *Session) entry(ctx context.Context, key string) (*stateEntry, error) {
	if s.state.entries == nil {
		s.state.entries = map[string]*stateEntry{}
	}
	if e := s.state.entries[key]; e != nil {
		return e, nil
	}
	if len(s.state.entries) >= MaxStateKeys {
		return nil, nil
	}
	value, version, err := s.cfg.State.Get(ctx, key)
	if err != nil {
		return nil, phases.NewFault(phases.KindStore, "the hook's state could not be read", err)
	}
	e := &stateEntry{version: version}
	if version != 0 {
		e.before = append([]byte{}, value...)
		e.value = e.before
	}
	s.state.entries[key] = e
	return e, nil
}

func validStateKey(key []byte) bool { return len(key) > 0 && utf8.Valid(key) }

func stateGet(ctx context.Context, s *Session, a *Args) (Result, error) {
	switch {
	case !validStateKey(a.In[0]):
		return Result{Code: int64(Invalid)}, nil
	case s.cfg.State == nil:
		return Result{Code: int64(Unavailable)}, nil
	}
	e, err := s.entry(ctx, string(a.In[0]))
	switch {
	case err != nil:
		return Result{}, err
	case e == nil:
		return Result{Code: int64(Budget)}, nil
	}
	if e.value == nil {
		return Result{Code: int64(Absent)}, nil
	}
	return Result{Out: e.value}, nil
}

func statePut(ctx context.Context, session *Session, a *Args) (Result, error) {
	switch {
	case !validStateKey(a.In[0]):
		return Result{Code: int64(Invalid)}, nil
	case session.cfg.State == nil:
		return Result{Code: int64(Unavailable)}, nil
	}
	key, value := string(a.In[0]), a.In[1]
	entry, err := session.entry(ctx, key)
	switch {
	case err != nil:
		return Result{}, err
	case entry == nil:
		return Result{Code: int64(Budget)}, nil
	}
	if !session.state.usageKnown {
		if session.state.keys, session.state.bytes, err = session.cfg.State.Usage(ctx); err != nil {
			return Result{}, phases.NewFault(phases.KindStore, "the hook's state could not be read", err)
		}
		session.state.usageKnown = true
	}
	keys, size := session.state.keys, session.state.bytes
	if entry.value != nil {
		keys, size = keys-1, size-len(key)-len(entry.value)
	}
	if len(value) > 0 {
		keys, size = keys+1, size+len(key)+len(value)
	}
	// Removing and shrinking stay possible when a namespace is over its quota.
	if (keys > MaxStateKeys && keys > session.state.keys) || (size > MaxState && size > session.state.bytes) {
		return Result{Code: int64(Budget)}, nil
	}
	session.state.keys, session.state.bytes = keys, size
	entry.written = true
	entry.value = nil
	if len(value) > 0 {
		entry.value = append([]byte{}, value...)
	}
	return Result{}, nil
}

// StateReads returns every key that the turn has looked at, sorted. Keys that
// were only written are among them: the quota made the turn look.
func (s *Session) StateReads() []StateRead {
	var out []StateRead
	for k, e := range s.state.entries {
		out = append(out, StateRead{Key: k, Version: e.version})
	}
	slices.SortFunc(out, func(a, b StateRead) int {
		if a.Key < b.Key {
			return -1
		}
		return 1
	})
	return out
}

// StateWrites returns what the turn wants to change, sorted by key; writes that
// change nothing are left out. The caller takes them only when the export
// returned 0 and Poison is nil.
func (s *Session) StateWrites() []StateWrite {
	if s.poison != nil {
		return nil
	}
	var out []StateWrite
	for k, e := range s.state.entries {
		if e.written && (string(e.value) != string(e.before) || (e.value == nil) != (e.before == nil)) {
			out = append(out, StateWrite{Key: k, Value: e.value, Delete: e.value == nil, Version: e.version})
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Key < out[j].Key })
	return out
}
