package system_test

import (
	"errors"
	"os"
	"testing"

	"github.com/belay-hooks/belay/internal/system"
)

// The daemon of the machine is asked, whatever directory an ordinary user names; root and the daemon's own user name
// one, and others where system.yaml allows it. While that cannot be believed nothing is asked.
func TestAsked(t *testing.T) {
	const root, other = 0, 54321
	daemon := os.Geteuid()
	if daemon == root {
		daemon = 999
	}
	state := t.TempDir() // of the daemon's user
	if os.Geteuid() == root {
		if err := os.Chown(state, daemon, daemon); err != nil {
			t.Fatal(err)
		}
	}
	allows, not := &system.Config{AllowState: true}, &system.Config{}
	broken := errors.New("not root's")
	for _, c := range []struct {
		what   string
		config *system.Config
		err    error
		uid    int
		named  bool
		want   bool
	}{
		{"no system mode", nil, system.ErrNone, other, false, false},
		{"no system mode, a directory", nil, system.ErrNone, other, true, false},
		{"a user names none", not, nil, other, false, true},
		{"a user names one", not, nil, other, true, true},
		{"a user names one that counts", allows, nil, other, true, false},
		{"a user names none where it would count", allows, nil, other, false, true},
		{"root names one", not, nil, root, true, false},
		{"root names none", not, nil, root, false, true},
		{"the daemon's user names one", not, nil, daemon, true, false},
		{"not believed", nil, broken, other, false, true},
		{"not believed, root names one", nil, broken, root, true, true},
	} {
		got, err := system.Asked(func() (*system.Config, error) { return c.config, c.err }, state, c.uid, c.named)
		if got != c.want || errors.Is(err, broken) != (c.err == broken) {
			t.Errorf("%s: %t, %v", c.what, got, err)
		}
	}
	if on, err := system.Asked(func() (*system.Config, error) { return not, nil }, state+"/none", daemon, true); !on ||
		err != nil {
		t.Errorf("without a state: %t, %v", on, err)
	}
}
