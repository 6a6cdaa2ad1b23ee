package hostcalls

import "time"

// AfterInit is what start and _initialize of one session depended on, and what they left in it beside the calls that
// they made and the lines that they printed. The host uses it to begin another session where they ended.
type AfterInit struct {
	seed       [32]byte
	wall, mono time.Duration
}

// AfterInit is asked between the end of _initialize and EndInit. False: an Injector may have answered, so that another
// session may not see the same.
func (s *Session) AfterInit() (AfterInit, bool) {
	return AfterInit{seed: s.cfg.InitSeed, wall: s.wall, mono: s.mono}, s.cfg.Inject == nil
}

// RepeatsInit reports whether start and _initialize would see in this session what they saw in the one of a: the same
// random bytes, and every call answered as it should be. Clocks count from the same epoch in all sessions.
func (s *Session) RepeatsInit(a *AfterInit) bool {
	return s.cfg.Inject == nil && s.cfg.InitSeed == a.seed
}

// SkipInit sets the stub's clocks to where they stood at the end of _initialize. It does not make the calls again.
func (s *Session) SkipInit(a *AfterInit) { s.wall, s.mono = a.wall, a.mono }
