package sandbox

import (
	"testing"

	"github.com/belay-hooks/belay/internal/sandbox/sandboxtest"
	"github.com/belay-hooks/belay/phases"
)

// Where memory may not be made executable hooks run on the interpreter, and belay knows.
func TestEngineIsKnown(t *testing.T) {
	if !sandboxtest.InProcessOfItsOwn(t) {
		if !Compiles() || !HasCompiler() {
			t.Error("no compiler where there is one")
		}
		return
	}
	if Compiles() || !HasCompiler() {
		t.Error("the compiler is said to work")
	}
	m := load(t, open(t, Options{}), guest(t, "loops"))
	if o := run(t, m, RunRequest{Phase: phases.PreSend, Timeout: -1}, lsAction); o.Kind != "" {
		t.Errorf("%q %s", o.Kind, o.Cause)
	}
}
