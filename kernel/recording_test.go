package kernel

import (
	"log/slog"
	"testing"
)

// A recorder that panics is not asked again in that invocation.
func TestAPanicEndsARecording(t *testing.T) {
	r := recording{by: struct{ Recorder }{}, log: slog.New(slog.DiscardHandler)}
	if !r.on() {
		t.Fatal("nothing is recorded")
	}
	func() {
		defer r.guard()
		panic("broken")
	}()
	if r.on() {
		t.Error("the recorder is asked again")
	}
}
