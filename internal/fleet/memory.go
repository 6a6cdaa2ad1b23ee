package fleet

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/internal/eventlog"
	"github.com/belay-hooks/belay/internal/files"
	"github.com/belay-hooks/belay/internal/restrict"
	"github.com/belay-hooks/belay/internal/statedir"
	"github.com/belay-hooks/belay/internal/store/postgres"
)

// Memory is what an auditor remembers of an organisation, outside of the database.
type Memory struct {
	Version int                `json:"version"`
	Schema  string             `json:"schema"`
	At      time.Time          `json:"at"` // of the last run, by the clock of the server
	Shared  RememberedShared   `json:"shared"`
	Kernels []RememberedKernel `json:"kernels"` // by name
}

// RememberedShared is what is remembered of what restricts.
type RememberedShared struct {
	Version int64  `json:"version"`
	Root    string `json:"root"`
}

// RememberedKernel is what is remembered of a kernel: its log as it was when it was verified.
type RememberedKernel struct {
	Name      string    `json:"kernel"`
	Key       string    `json:"key"`
	Size      int64     `json:"size"`
	Root      string    `json:"root"` // of the tree over all events
	At        time.Time `json:"at"`
	Head      string    `json:"head,omitzero"`      // the newest one that the kernel has signed
	Recovered []int64   `json:"recovered,omitzero"` // events that record recoveries

	root [32]byte
}

const (
	memoryVersion = 1
	maxMemory     = 32 << 20
)

func (m *Memory) kernel(name string) *RememberedKernel {
	for i := range m.Kernels {
		if m.Kernels[i].Name == name {
			return &m.Kernels[i]
		}
	}
	return nil
}

// ReadMemory reads a memory. One that does not exist yet is nil.
func ReadMemory(path string) (*Memory, error) {
	b, err := files.Read(path, maxMemory)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("memory: %w", err)
	}
	m, err := decodeMemory(b)
	if err != nil {
		return nil, fmt.Errorf("memory: %s: %w", path, err)
	}
	return m, nil
}

func decodeMemory(b []byte) (*Memory, error) {
	m := new(Memory)
	err := json.Unmarshal(b, m, json.RejectUnknownMembers(true))
	if err == nil {
		err = m.check()
	}
	return m, err
}

func (m *Memory) check() error {
	switch {
	case m.Version != memoryVersion:
		return fmt.Errorf("/version: %d is none that this belay knows", m.Version)
	case m.Schema == "" || m.At.IsZero():
		return errors.New("it does not say of which schema and of when it is")
	case m.Shared.Version < 0:
		return fmt.Errorf("/shared/version: %d is negative", m.Shared.Version)
	}
	if _, ok := restrict.Parse(m.Shared.Root); !ok && m.Shared.Root != "" {
		return errors.New("/shared/root: want sha256: and 64 hexadecimal digits")
	}
	for i := range m.Kernels {
		k := &m.Kernels[i]
		at := fmt.Sprintf("/kernels/%d", i)
		root, ok := restrict.Parse(k.Root)
		switch {
		case !postgres.ValidName(k.Name):
			return fmt.Errorf("%s/kernel: %q is no name", at, k.Name)
		case i > 0 && m.Kernels[i-1].Name >= k.Name:
			return fmt.Errorf("%s/kernel: %q is not behind %q", at, k.Name, m.Kernels[i-1].Name)
		case eventlog.CheckVerifier(k.Key) != nil:
			return fmt.Errorf("%s/key: it is no verifier key", at)
		case k.Size < 0 || !ok || k.At.IsZero():
			return fmt.Errorf("%s: size, root or time cannot be", at)
		}
		k.root = root
	}
	return nil
}

// Write replaces the memory in its file, at once.
func (m *Memory) Write(path string) error {
	m.Version = memoryVersion
	slices.SortFunc(m.Kernels, func(a, b RememberedKernel) int { return strings.Compare(a.Name, b.Name) })
	if m.Kernels == nil {
		m.Kernels = []RememberedKernel{}
	}
	b, err := json.Marshal(m, json.Deterministic(true), jsontext.WithIndent("  "))
	if err == nil && len(b) >= maxMemory {
		err = fmt.Errorf("it would have more than %d bytes", maxMemory)
	}
	if err == nil {
		err = statedir.Replace(path, append(b, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("memory: %w", err)
	}
	return nil
}

// keep remembers what was remembered.
func (v *verification) keep(k *RememberedKernel) {
	if k != nil {
		v.next.Kernels = append(v.next.Kernels, *k)
	}
}

// remember notes a log that was verified.
func (v *verification) remember(ctx context.Context, k *Kernel, log Log, notes [][]byte) error {
	root, err := eventlog.Root(ctx, log, k.Log.Events)
	if err != nil {
		return err
	}
	out := RememberedKernel{Name: k.Name, Key: k.Key, Size: k.Log.Events, Root: restrict.Digest(root).String(),
		At: v.next.At, root: root}
	for _, n := range slices.Backward(notes) {
		if _, err := eventlog.Open(n, k.Key); err == nil {
			out.Head = string(n)
			break
		}
	}
	for _, r := range k.Log.Recovered {
		out.Recovered = append(out.Recovered, r.Event)
	}
	v.next.Kernels = append(v.next.Kernels, out)
	return nil
}
