package statelog

import "testing"

type warnedEngine struct{ engine }

func (warnedEngine) Warning() string { return "the new password does not work" }

// What the database itself warns of is heard behind its high-water mark.
func TestWarningOfTheEngine(t *testing.T) {
	s := &Storage{Store: &Database{engine: warnedEngine{}}}
	if w := s.Warning(); w != "the new password does not work" {
		t.Errorf("%q", w)
	}
}
