package glob

import "errors"

// ErrWork: the matches that were counted together took more steps than they may.
var ErrWork = errors.New("glob: too many steps")

// Work counts the steps of matches and bounds them together. It is used by one
// goroutine. The zero value does not bound.
type Work struct {
	Steps int          // so far; the same for the same patterns and texts everywhere
	Max   int          // more are ErrWork; 0 is no bound
	Stop  func() error // asked at least once in 4096 steps; nil never stops

	set [2]set
}

const stopEvery = 4096

func (w *Work) step() error {
	if w.Steps++; w.Max > 0 && w.Steps > w.Max {
		return ErrWork
	}
	if w.Steps%stopEvery == 0 && w.Stop != nil {
		return w.Stop()
	}
	return nil
}

// state is a place in the pattern and how it was reached.
type state struct {
	at  int
	how how
}

type how uint8

const (
	plain   how = iota // behind something that is no /
	begins             // where a directory begins
	starred            // behind *, which may take more
	below              // behind **/, at the beginning of a directory
	between            // behind **/, in the middle of a directory that it takes
	hows
)

// set holds each state once.
type set struct {
	list []state
	in   []uint64 // by state: the round in which it was added
	now  uint64   // rounds so far; never 0 in use
}

func (s *set) clear(states int) {
	if len(s.in) < states {
		s.in = make([]uint64, states)
	}
	s.list = s.list[:0]
	s.now++
}

func (s *set) add(n state) bool {
	k := n.at*int(hows) + int(n.how)
	if s.in[k] == s.now {
		return false
	}
	s.in[k] = s.now
	s.list = append(s.list, n)
	return true
}

// Match reports whether the pattern matches the whole text. A byte that is no text
// counts as U+FFFD. The error is ErrWork, or what Work.Stop said. It takes at most
// five steps for each byte of the pattern and each character of the text.
func (g *Glob) Match(text string, w *Work) (bool, error) {
	states := len(g.places) * int(hows)
	now, next := &w.set[0], &w.set[1]
	now.clear(states)
	now.add(state{0, begins})
	for _, c := range text {
		next.clear(states)
		for i := 0; i < len(now.list); i++ { // it grows by places reached without a character
			if err := w.step(); err != nil {
				return false, err
			}
			if g.advance(now.list[i], c, now, next) {
				return true, nil
			}
		}
		if len(next.list) == 0 {
			return false, nil
		}
		now, next = next, now
	}
	for _, s := range now.list {
		p := &g.places[s.at]
		left := p.tails
		switch s.how {
		case starred:
			left = p.starred
		case between:
			left = 0
		}
		if left&matchesEnd != 0 {
			return true, nil
		}
	}
	return false, nil
}

// advance takes the character c from a state: to now go the states that are reached
// without it, to next those behind it. It reports whether all that is left matches.
func (g *Glob) advance(s state, c rune, now, next *set) bool {
	slash := c == '/'
	switch s.how {
	case starred:
		if !slash {
			next.add(s)
		}
		// What follows * may begin here; no directory does.
	case below, between:
		if slash {
			next.add(state{s.at, below})
		} else {
			next.add(state{s.at, between})
		}
		if s.how == below {
			now.add(state{s.at, begins})
		}
		return false
	}
	p := &g.places[s.at]
	took := false
	switch p.kind {
	case literal:
		took = c == p.char
	case anyOne:
		took = !slash
	case oneOf:
		took = p.class.has(c)
	case branch:
		for _, alt := range p.alts {
			now.add(state{alt, s.how})
		}
	case star:
		k, after := star, p.next
		if s.how == begins {
			k, after = p.begins, p.after
		}
		switch k {
		case rest:
			return true
		case deep:
			now.add(state{after, below})
		default:
			now.add(state{after, starred})
		}
	}
	if took && p.kind == literal && slash {
		next.add(state{p.next, begins})
	} else if took {
		next.add(state{p.next, plain})
	}
	return false
}
