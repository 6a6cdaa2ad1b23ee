package kernel

import "github.com/belay-hooks/belay/internal/notes"

// noteKey tells notes apart.
type noteKey struct {
	at                           int64 // ns
	invocation, runtime, session string
}

func keyOf(n *notes.Note) noteKey {
	return noteKey{n.Time.UnixNano(), n.Invocation, n.Runtime, n.Session}
}

// standing is the state of the record of a refusal that was noted while it was written.
type standing int

const (
	settled  standing = iota // nothing but the note tells of the refusal
	open                     // the record is being written
	recorded                 // the record was written after all: the note is of no use any more
)

// maxStandings bounds how many notes are remembered as recorded.
const maxStandings = 4 * maxRecordingSoon

// addOpen adds a note of a refusal whose record is being written. It is not reported
// before settle. The latch that it asks for is set at once.
func (s *spool) addOpen(n notes.Note) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.standing == nil || len(s.standing) >= maxStandings { // more is only told twice
		s.standing = map[noteKey]standing{}
	}
	s.standing[keyOf(&n)] = open
	s.put(n)
}

// settle tells how the record ended that addOpen spoke of.
func (s *spool) settle(n notes.Note, written bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if delete(s.standing, keyOf(&n)); written && s.standing != nil {
		s.standing[keyOf(&n)] = recorded
	}
}

// sift returns the notes that are to be reported now, and the others. Preconditions: s.mu is held.
func (s *spool) sift(left []notes.Note) (now, others []notes.Note) {
	for i := range left {
		n := left[i]
		if st := s.standing[keyOf(&n)]; st == settled {
			now = append(now, n)
		} else {
			others = append(others, n)
		}
	}
	return now, others
}

// sifted keeps of the others those whose records are still being written, or have failed.
// Preconditions: s.mu is held, and the notes taken are out of memory and still in their files.
func (s *spool) sifted(others []notes.Note) {
	for i := range others {
		if key := keyOf(&others[i]); s.standing[key] == recorded {
			delete(s.standing, key)
			continue
		}
		s.put(others[i])
	}
}
