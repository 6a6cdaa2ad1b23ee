//go:build unix

package highwater

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

const (
	processes = 4
	usesEach  = 100
)

// usesOf notes the uses of one process, one by one, as a daemon and commands do.
func usesOf(dir, who string) error {
	g := New(optionsIn(dir))
	defer g.Close()
	fmt.Println("ready")
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		return err
	}
	for n := range usesEach {
		st, _, err := g.Look()
		if err != nil {
			return err
		}
		if err := g.Intend(st.Epoch, head(1),
			[]Use{{ID: fmt.Sprintf("%s%s-%d", Approval, who, n), Event: "e", Until: t0.Unix()}}, t0); err != nil {
			return err
		}
	}
	return nil
}

func optionsIn(dir string) Options {
	return Options{Dir: filepath.Join(dir, "data", "marks"), Name: "m", Record: filepath.Join(dir, "keys", RecordName)}
}

// Processes that note uses at the same time take turns: none of the uses is lost.
func TestProcessesTakeTurns(t *testing.T) {
	if dir := os.Getenv("BELAY_TEST_MARK"); dir != "" {
		if err := usesOf(dir, os.Getenv("BELAY_TEST_WHO")); err != nil {
			t.Fatal(err)
		}
		return
	}
	dir := t.TempDir()
	g := New(optionsIn(dir))
	t.Cleanup(func() { g.Close() })
	adopt(t, g)
	var all []*exec.Cmd
	var start []func()
	for n := range processes {
		c := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestProcessesTakeTurns$")
		c.Env = append(os.Environ(), "BELAY_TEST_MARK="+dir, fmt.Sprintf("BELAY_TEST_WHO=p%d", n))
		c.Stderr = os.Stderr
		in, err := c.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		if s, err := bufio.NewReader(out).ReadString('\n'); err != nil || s != "ready\n" {
			t.Fatalf("%q, %v", s, err)
		}
		all, start = append(all, c), append(start, func() { fmt.Fprintln(in) })
	}
	for _, f := range start {
		f()
	}
	for _, c := range all {
		if err := c.Wait(); err != nil {
			t.Errorf("a process: %v", err)
		}
	}
	st := look(t, New(optionsIn(dir)))
	for n := range processes {
		for i := range usesEach {
			if id := fmt.Sprintf("%sp%d-%d", Approval, n, i); st.Uses[id].ID != id {
				t.Errorf("%s is lost", id)
			}
		}
	}
	if len(st.Uses) != processes*usesEach {
		t.Errorf("%d uses, want %d", len(st.Uses), processes*usesEach)
	}
}
