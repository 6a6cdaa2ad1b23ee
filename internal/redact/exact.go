package redact

import "strings"

// Limits of Config.Exact.
const (
	MinExact = 6    // bytes of one secret: a shorter one would redact ordinary words
	MaxExact = 4096 // secrets
)

// exactSet finds texts that are known to be secret, wherever they stand: two
// bytes choose the few that may begin at a place.
type exactSet struct {
	byHead map[uint16][]string
	heads  headSet
}

func newExactSet(secrets []string) *exactSet {
	if len(secrets) == 0 {
		return nil
	}
	e := &exactSet{byHead: map[uint16][]string{}}
	for _, s := range secrets {
		h := uint16(s[0])<<8 | uint16(s[1])
		e.byHead[h] = append(e.byHead[h], s)
		e.heads.add(h)
	}
	return e
}

func (e *exactSet) find(s string, add func(kind string, from, to int)) {
	for i := 0; i+MinExact <= len(s); i++ {
		h := uint16(s[i])<<8 | uint16(s[i+1])
		if !e.heads.has(h) {
			continue
		}
		for _, secret := range e.byHead[h] {
			if strings.HasPrefix(s[i:], secret) {
				add("known", i, i+len(secret))
			}
		}
	}
}
