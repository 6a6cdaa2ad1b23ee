package notes

import (
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/leases"
)

// ClockJump is a step of the wall clock: its time changed by more than the time that
// passed.
type ClockJump struct {
	From  time.Time `json:"from"` // what the wall clock would say
	To    time.Time `json:"to"`   // its time after the jump
	Since int64     `json:"since_ms"`
}

// MinClockJump is the least difference that is called a jump. Less than that is what time
// servers correct all the time, and a leap second.
const MinClockJump = 2 * time.Second

// By returns how far the clock jumped; less than 0 is back.
func (j *ClockJump) By() time.Duration { return j.To.Sub(j.From) }

// String says the jump in words.
func (j *ClockJump) String() string {
	by := j.By().Round(time.Second)
	sign := "+"
	if by < 0 {
		sign = "" // its own
	}
	return fmt.Sprintf("the clock jumped by %s%v, from %s to %s", sign, by, j.From.UTC().Format(time.RFC3339),
		j.To.UTC().Format(time.RFC3339))
}

// ClockNote is the memory of the wall clock in one boot, so that every process finds
// a jump that happened while another one looked, or none did. Offsets are the
// wall time, in Unix milliseconds, at which the boot clock would have been 0.
type ClockNote struct {
	Boot  string     `json:"boot"`
	Last  int64      `json:"last_ms"`  // offset at the newest jump, or at the first look
	Least int64      `json:"least_ms"` // least offset that was met
	Jump  *ClockJump `json:"jump,omitzero"`
}

func offset(at leases.Instant) int64 { return at.Wall.UnixMilli() - at.Since.Milliseconds() }

// Look compares the note with a moment. The jump is nil without one; changed says that
// next is to be remembered in place of the note.
func (n ClockNote) Look(at leases.Instant) (next ClockNote, jump *ClockJump, changed bool) {
	if at.Boot == "" {
		return n, nil, false
	}
	now := offset(at)
	if n.Boot != at.Boot {
		return ClockNote{Boot: at.Boot, Last: now, Least: now}, nil, true
	}
	by := time.Duration(min(max(now-n.Last, -maxJump), maxJump)) * time.Millisecond
	if by.Abs() < MinClockJump {
		return n, nil, false
	}
	jump = &ClockJump{From: at.Wall.Add(-by).UTC().Round(0), To: at.Wall.UTC().Round(0), Since: at.Since.Milliseconds()}
	return ClockNote{Boot: n.Boot, Last: now, Least: min(n.Least, now), Jump: jump}, jump, true
}

// maxJump is the longest jump that is told as it is, in milliseconds: about 290 years.
const maxJump = int64(1<<63-1) / int64(time.Millisecond)

// Calm returns the time by which things are deleted for their age: the wall
// time, and in the boot of the note as if the clock had always been at its
// least offset. A jump ahead deletes nothing early by it; older things are
// deleted late by as much, until the next boot.
func (n ClockNote) Calm(at leases.Instant) time.Time {
	if at.Boot == "" || n.Boot != at.Boot {
		return at.Wall
	}
	ahead := min(max(offset(at)-n.Least, 0), maxJump)
	return at.Wall.Add(-time.Duration(ahead) * time.Millisecond).Round(0) // a time to be compared with stored ones
}

// Encode writes the note down.
func (n ClockNote) Encode() ([]byte, error) { return json.Marshal(&n, json.Deterministic(true)) }

var errNote = errors.New("the note of the clock is damaged")

// DecodeClockNote reads a note strictly; nothing is the zero ClockNote.
func DecodeClockNote(src []byte) (ClockNote, error) {
	var n ClockNote
	if len(src) == 0 {
		return n, nil
	}
	if len(src) > maxClock {
		return n, errNote
	}
	if err := json.Unmarshal(src, &n, json.RejectUnknownMembers(true)); err != nil {
		return ClockNote{}, fmt.Errorf("%w: %w", errNote, err)
	}
	if n.Boot == "" || n.Least > n.Last {
		return ClockNote{}, errNote
	}
	return n, nil
}
