package redact

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"sync"
)

// harmlessWays times harmlessSets digests of 16 bytes are kept: 128 KiB, whatever comes in. Texts outside of the
// lengths are looked through each time: short ones cost less than a digest, and long ones seldom come again.
const (
	harmlessSets = 2048
	harmlessWays = 4
	minHarmless  = 24
	maxHarmless  = 4 << 10
)

// harmless remembers texts in which the detectors of one Redactor have found nothing, by a digest under a key that is
// made at random and kept nowhere: neither a text nor anything to test a guess with is in memory. It is safe for
// concurrent use.
type harmless struct {
	key [32]byte

	mu   sync.Mutex
	sets [harmlessSets]struct {
		known [harmlessWays][16]byte
		next  uint8 // to be replaced
	}
}

func newHarmless() *harmless {
	h := new(harmless)
	rand.Read(h.key[:]) // never fails: the runtime ends the process instead
	return h
}

// mark is the digest of a text; false: it is not one to remember.
func (h *harmless) mark(s string) (m [16]byte, ok bool) {
	if h == nil || len(s) < minHarmless || len(s) > maxHarmless {
		return m, false
	}
	var room [512]byte
	sum := sha256.Sum256(append(append(room[:0], h.key[:]...), s...))
	return [16]byte(sum[:16]), true
}

func (h *harmless) has(m [16]byte) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	set := &h.sets[binary.LittleEndian.Uint16(m[:])%harmlessSets]
	for i := range set.known {
		if set.known[i] == m {
			return true
		}
	}
	return false
}

// add remembers a text in the place of one that has been there longest.
func (h *harmless) add(m [16]byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	set := &h.sets[binary.LittleEndian.Uint16(m[:])%harmlessSets]
	set.known[set.next%harmlessWays] = m
	set.next++
}
