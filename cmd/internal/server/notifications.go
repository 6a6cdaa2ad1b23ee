package server

import "sync"

// notifications tells followers that the log may have new events. It carries none: each
// follower reads the log at its own pace, so that a slow one costs nothing.
// Safe for concurrent use.
type notifications struct {
	mu    sync.Mutex
	next  chan struct{}
	over  chan struct{}
	ended bool
}

func newNotifications() *notifications {
	return &notifications{next: make(chan struct{}), over: make(chan struct{})}
}

// tell wakes all waiters.
func (n *notifications) tell() {
	n.mu.Lock()
	defer n.mu.Unlock()
	close(n.next)
	n.next = make(chan struct{})
}

// wait returns a channel that is closed by the next tell. It is taken before the
// log is read, so that nothing falls in between.
func (n *notifications) wait() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.next
}

// end makes done's channel close: no more news from here.
func (n *notifications) end() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.ended {
		n.ended = true
		close(n.over)
	}
}

func (n *notifications) done() <-chan struct{} { return n.over }
