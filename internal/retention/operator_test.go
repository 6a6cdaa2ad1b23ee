package retention_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/loader"
	"github.com/belay-hooks/belay/internal/recording"
	"github.com/belay-hooks/belay/internal/replay"
	"github.com/belay-hooks/belay/internal/retention"
	"github.com/belay-hooks/belay/phases"
)

// operator is a state directory with a policy, and the key that opens the recordings.
type operator struct {
	t          *testing.T
	state, dir string
	ids        recording.Identities
	to         string
}

func newOperator(t *testing.T) *operator {
	t.Helper()
	file, to, err := recording.NewIdentity()
	if err != nil {
		t.Fatal(err)
	}
	ids, err := recording.ParseIdentities([]byte(file))
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	return &operator{t: t, state: filepath.Join(root, "state"), dir: filepath.Join(root, "kept"), ids: ids, to: to}
}

// configure writes belay.yaml; more is added to recordings:, and no line at all keeps nothing.
func (o *operator) configure(more ...string) {
	o.t.Helper()
	src := "version: belay/v1\n" + hooks + thinking
	if len(more) > 0 {
		src += "recordings:\n  dir: " + o.dir + "\n"
		for _, m := range more {
			src += "  " + strings.ReplaceAll(m, "TO", o.to) + "\n"
		}
	}
	src += "limits: {chain_ms: 60000}\n" // no deadline is what these tests are about
	if err := os.MkdirAll(o.state, 0o700); err != nil {
		o.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(o.state, "belay.yaml"), []byte(src), 0o600); err != nil {
		o.t.Fatal(err)
	}
}

func (o *operator) open(change ...func(*belay.Options)) *belay.Belay {
	o.t.Helper()
	var options belay.Options
	for _, c := range change {
		c(&options)
	}
	b, err := belay.Open(context.Background(), o.state, options)
	if err != nil {
		o.t.Fatal(err)
	}
	o.t.Cleanup(func() { _ = b.Close() })
	return b
}

func invocation(command string) phases.Invocation {
	return phases.Invocation{Phase: phases.PreTool, Runtime: "custom", Session: "s", Run: "r", CWD: "/home/dev/project",
		Action: fmt.Appendf(nil, `{"tool":"exec","args":{"command":%q}}`, command)}
}

func (o *operator) decide(b *belay.Belay, commands ...string) []phases.Verdict {
	o.t.Helper()
	var out []phases.Verdict
	for _, c := range commands {
		v, err := b.Invoke(context.Background(), invocation(c))
		if err != nil {
			o.t.Fatal(err)
		}
		out = append(out, v)
	}
	return out
}

func (o *operator) close(b *belay.Belay) {
	o.t.Helper()
	if err := b.Close(); err != nil {
		o.t.Fatal(err)
	}
}

func (o *operator) files() []string {
	o.t.Helper()
	list, err := retention.Files(o.dir)
	if err != nil {
		o.t.Fatal(err)
	}
	return list
}

// read reads a file as far as it goes.
func (o *operator) read(path string) (runs []*recording.Run, chains []*recording.Chain, end error) {
	o.t.Helper()
	f, err := os.Open(path)
	if err != nil {
		o.t.Fatal(err)
	}
	defer f.Close()
	in, how := recording.Look(f)
	if how != recording.Plain {
		if in, err = recording.Unseal(in, path, o.ids); err != nil {
			return nil, nil, err
		}
	}
	rd, err := recording.NewReader(in, path)
	if err != nil {
		return nil, nil, err
	}
	for {
		run, chain, err := rd.Next()
		if errors.Is(err, io.EOF) {
			return runs, chains, nil
		}
		if err != nil {
			return runs, chains, err
		}
		runs, chains = append(runs, run), append(chains, chain)
	}
}

// notices are the logged sentences.
func (o *operator) notices(b *belay.Belay) []string {
	o.t.Helper()
	list, err := b.Events(context.Background(), wire.Query{Type: phases.EventNotice, Limit: 1000})
	if err != nil {
		o.t.Fatal(err)
	}
	var out []string
	for _, e := range list {
		out = append(out, e.Reason)
	}
	return out
}

func (o *operator) said(b *belay.Belay, text string) int {
	o.t.Helper()
	n := 0
	for _, s := range o.notices(b) {
		if strings.Contains(s, text) {
			n++
		}
	}
	return n
}

// replay runs a recording again: nothing differs.
func (o *operator) replay(path string, want int) {
	o.t.Helper()
	f, err := os.Open(path)
	if err != nil {
		o.t.Fatal(err)
	}
	defer f.Close()
	in, _ := recording.Look(f)
	in, err = recording.Unseal(in, path, o.ids)
	if err != nil {
		o.t.Fatal(err)
	}
	o.replayFrom(in, want)
}

func (o *operator) replayFrom(in io.Reader, want int) {
	o.t.Helper()
	rd, err := recording.NewReader(in, "kept")
	if err != nil {
		o.t.Fatal(err)
	}
	bench, err := loader.OpenBench(loader.BenchOptions{})
	if err != nil {
		o.t.Fatal(err)
	}
	defer bench.Close()
	n := 0
	err = replay.All(context.Background(), replay.Options{Bench: bench}, rd, func(r *replay.Result) error {
		n++
		if !r.Same() {
			o.t.Errorf("%s differs: %+v", r.Invocation.Action, r.Differences)
		}
		return nil
	})
	if err != nil || n != want {
		o.t.Errorf("%d of %d invocations, %v", n, want, err)
	}
}
