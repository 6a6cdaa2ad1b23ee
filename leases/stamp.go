package leases

import "time"

// Stamp is when something began, on the boot clock. The zero value is for what began on a
// host without one, and for what belay wrote before it had stamps.
type Stamp struct {
	Boot  string `json:"boot"`
	Since int64  `json:"since_ns"` // nanoseconds since the boot
}

// Stamp returns the moment as a stamp.
func (at Instant) Stamp() Stamp {
	if at.Boot == "" {
		return Stamp{}
	}
	return Stamp{Boot: at.Boot, Since: int64(at.Since)}
}

// StampOf returns the stamp of something that began at a wall time, which is not after at:
// what would have begun later began now, so that nothing lasts longer than it is meant to.
func (at Instant) StampOf(began time.Time) Stamp {
	s := at.Stamp()
	if early := at.Wall.Sub(began); s != (Stamp{}) && early > 0 {
		s.Since -= int64(early)
	}
	return s
}

// Counts reports whether the boot clock decides: the stamp is of the boot of the moment.
func (s Stamp) Counts(at Instant) bool { return s.Boot != "" && s.Boot == at.Boot }

// Left returns how long what began with the stamp still lasts, which is not more than 0
// when it is over. From and to are its beginning and its end on the wall clock. In the boot
// of the stamp it lasts as long as there is between them, whatever was done to the wall
// clock meanwhile. In another boot the wall clock counts, and is never behind what the
// store has seen; on a host without a boot clock it counts as it is.
func (s Stamp) Left(at Instant, from, to time.Time) time.Duration {
	switch {
	case s.Counts(at):
		return to.Sub(from) - (at.Since - time.Duration(s.Since))
	case at.Boot == "":
		return to.Sub(at.Wall)
	}
	return to.Sub(at.Latest())
}

// Over reports whether what began with the stamp has had its time; see Left.
func (s Stamp) Over(at Instant, from, to time.Time) bool { return s.Left(at, from, to) <= 0 }
