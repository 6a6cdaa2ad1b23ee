package mutants

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// module writes a small module and returns what runs its tests.
func module(t *testing.T) *Runner {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example.org/m\n\ngo 1.26\n",
		"p/p.go": `package p

func wrapped(name string) string {
	return "who stands at the door, and how old is " + name +
		" today, as far as " +
		name + " says"
}

// Door says who may pass.
func Door(age int, ticket bool) bool {
	if age < 18 {
		return false
	}
	return seen(age) && ticket
}

func seen(age int) bool { return age > 0 }

func unused(n int) int { return n + 1 }
`,
		"p/p_test.go": `package p

import "testing"

func TestDoor(t *testing.T) {
	if Door(17, true) || !Door(18, true) || Door(30, false) {
		t.Fatal("the door")
	}
}

func TestNothing(t *testing.T) {}
`,
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return &Runner{Root: dir, Scratch: t.TempDir(), Timeout: time.Minute}
}

// TestDefence: a defence counts as proven only if its own test fails without it and passes with it.
func TestDefence(t *testing.T) {
	r := module(t)
	age := Defence{Name: "age", Package: "p", Symbol: "Door", From: "age < 18", With: "false", Test: "p/TestDoor"}
	for name, c := range map[string]struct {
		change func(*Defence)
		want   Outcome
		err    string
	}{
		"missed by its test":   {func(*Defence) {}, Killed, ""},
		"a test that is blind": {func(d *Defence) { d.Test = "p/TestNothing" }, Survived, ""},
		"does not compile":     {func(d *Defence) { d.With = "nonsense" }, Invalid, ""},
		"no such test":         {func(d *Defence) { d.Test = "p/TestGone" }, "", "no test"},
		"no such place":        {func(d *Defence) { d.From = "age > 18" }, "", "not once"},
	} {
		t.Run(name, func(t *testing.T) {
			d := age
			c.change(&d)
			res, err := r.Defence(t.Context(), &d)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Fatalf("%v, want %q", err, c.err)
				}
				return
			}
			if err != nil || res.Outcome != c.want {
				t.Errorf("%s, %v; want %s\n%s", res.Outcome, err, c.want, res.Output)
			}
		})
	}
	if err := os.WriteFile(filepath.Join(r.Root, "p", "q_test.go"),
		[]byte("package p\n\nimport \"testing\"\n\nfunc TestRed(t *testing.T) { t.Fatal() }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	age.Test = "p/TestRed"
	r = &Runner{Root: r.Root, Scratch: t.TempDir(), Timeout: r.Timeout} // the other one has built the package before
	if _, err := r.Defence(t.Context(), &age); err == nil ||
		!strings.Contains(err.Error(), "although nothing was changed") ||
		!strings.Contains(err.Error(), "--- FAIL: TestRed") {
		t.Errorf("a test that always fails: %v", err)
	}
}

// TestDefenceUnderTheRaceDetector: an entry that asks for the race detector has it, and others do not.
func TestDefenceUnderTheRaceDetector(t *testing.T) {
	if out, err := exec.Command("go", "env", "CC").Output(); err != nil {
		t.Fatal(err)
	} else if _, err := exec.LookPath(strings.TrimSpace(string(out))); err != nil {
		t.Fatalf("the race detector needs a C compiler: %v", err)
	}
	r := module(t)
	for name, text := range map[string]string{
		"q/q.go": `package q

import "sync"

// Sum counts to n.
func Sum(n int) (sum int) {
	var all sync.WaitGroup
	var mu sync.Mutex
	for range n {
		all.Go(func() {
			mu.Lock()
			defer mu.Unlock()
			sum++
		})
	}
	all.Wait()
	return sum
}
`,
		"q/q_test.go": `package q

import "testing"

func TestSum(t *testing.T) {
	if Sum(2) > 2 {
		t.Fatal("the sum")
	}
}
`,
	} {
		path := filepath.Join(r.Root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for race, want := range map[bool]Outcome{false: Survived, true: Killed} {
		d := Defence{Name: "lock", Package: "q", Symbol: "Sum", Test: "q/TestSum", Race: race,
			From: "mu.Lock()\n\t\t\tdefer mu.Unlock()", With: "_ = &mu"}
		res, err := r.Defence(t.Context(), &d)
		if err != nil || res.Outcome != want || race && !strings.Contains(res.Output, "DATA RACE") {
			t.Errorf("race %v: %s, %v; want %s\n%s", race, res.Outcome, err, want, res.Output)
		}
	}
}

// TestSurvey: what the tests notice is killed, whether the change is in the binary or compiled for itself; what
// no test reaches survives.
func TestSurvey(t *testing.T) {
	r := module(t)
	outcomes := map[string]Outcome{}
	killed, tried, err := r.Survey(t.Context(), []string{"p"}, 1, 100, func(c *Tried) { outcomes[c.What] = c.Outcome })
	if err != nil {
		t.Fatal(err)
	}
	for what, want := range map[string]Outcome{
		"if age < 18 never holds":              Killed,
		"if age < 18 always holds":             Killed,
		"< becomes <= in age < 18":             Killed,
		"18 becomes 19":                        Killed,
		"false becomes true":                   Killed,
		"&& becomes || in seen(age) && ticket": Killed,
		"> becomes >= in age > 0":              Survived,
		"0 becomes 1":                          Survived,
		"+ becomes - in n + 1":                 Survived,
	} {
		if outcomes[what] != want {
			t.Errorf("%s: %s, want %s", what, outcomes[what], want)
		}
	}
	if tried != len(outcomes) || killed == 0 || killed == tried {
		t.Errorf("%d of %d, %d told", killed, tried, len(outcomes))
	}
}

// TestReadDefences: the table is read strictly.
func TestReadDefences(t *testing.T) {
	const good = "defences:\n  - {defence: a, package: p, symbol: F, from: x, with: y, test: p/TestF}\n"
	read := func(text string) error {
		path := filepath.Join(t.TempDir(), "table.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := ReadDefences(path)
		return err
	}
	if err := read(good); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"unknown member": strings.Replace(good, "with:", "width:", 1),
		"twice":          good + strings.TrimPrefix(good, "defences:\n"),
		"no test":        strings.Replace(good, "p/TestF", "p/F", 1),
		"no script":      strings.Replace(good, "p/TestF", "p/testdata/script/f.txt", 1),
		"nothing":        strings.Replace(good, "from: x, with: y, ", "", 1),
	} {
		if err := read(text); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
