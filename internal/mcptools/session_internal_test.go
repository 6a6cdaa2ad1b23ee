package mcptools

import "testing"

// A connection that was ended serves no further call, even while the library still holds it.
func TestEndedConnectionsAreGone(t *testing.T) {
	s := &session{end: func() {}, dead: make(chan struct{})}
	if s.gone() {
		t.Fatal("it is gone before it was ended")
	}
	s.leave()
	if !s.gone() {
		t.Error("the next call would be sent to it")
	}
}
