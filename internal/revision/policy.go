package revision

import (
	"maps"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/phases"
)

// Policy digests what decides. Two machines that decide alike have the same one, though their belay.yaml are not the
// same bytes: where events go, and under which name, is no part of it.
func (s Summary) Policy() (string, error) {
	s.Revision = ""
	s.Settings = maps.Clone(s.Settings)
	delete(s.Settings, "store")
	delete(s.Settings, "events")
	b, err := json.Marshal(s, json.Deterministic(true))
	return phases.ByteDigest(b), err
}
