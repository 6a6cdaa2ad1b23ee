package kernel

import "testing"

// A snapshot that its last user has left is closed, and takes no user again.
func TestAClosedSnapshotTakesNoUser(t *testing.T) {
	s := &snapshot{users: 1}
	if !s.acquire() || s.users != 2 {
		t.Errorf("an open snapshot has %d users", s.users)
	}
	s.users = 0
	if s.acquire() || s.users != 0 {
		t.Errorf("a closed snapshot has %d users", s.users)
	}
}
