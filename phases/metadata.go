package phases

import (
	"fmt"
	"maps"
)

// callerKey is where the caller's own metadata stands in the input document.
const callerKey = "caller"

// annotate returns the bag with the effect's entry written. metadata is not changed.
// The error is an *effectProblem: a bad key, the reserved key "caller" or a value that a
// hook of a higher tier wrote (ErrDenied), no strict JSON (errInvalid), more
// than maxMetadataKeys or maxMetadataBytes (ErrTooLarge).
func annotate(metadata Metadata, by Actor, effect Effect) (Metadata, error) {
	if reason := checkKey(effect.Key); reason != "" {
		return nil, effectError(errInvalid, effect, "%s", reason)
	}
	if effect.Key == callerKey {
		return nil, effectError(ErrDenied, effect, "the key %q belongs to the caller", callerKey)
	}
	if old, ok := metadata[effect.Key]; ok && old.Tier.Rank() > by.Tier.Rank() {
		return nil, effectError(ErrDenied, effect, "a hook of a higher tier wrote this key")
	}
	if err := checkEffectValue(effect); err != nil {
		return nil, err
	}
	out := maps.Clone(metadata)
	if out == nil {
		out = Metadata{}
	}
	out[effect.Key] = Entry{Value: trim(effect.Value), Hook: by.Hook, Tier: by.Tier}
	if len(out) > maxMetadataKeys {
		return nil, effectError(ErrTooLarge, effect, "more than %d metadata keys", maxMetadataKeys)
	}
	if out.size() > maxMetadataBytes {
		return nil, effectError(ErrTooLarge, effect, "more than %d bytes of metadata", maxMetadataBytes)
	}
	return out, nil
}

// Size returns the bytes that count towards maxMetadataBytes.
func (m Metadata) size() int {
	n := 0
	for k, e := range m {
		n += len(k) + len(e.Value) + len(e.Hook) + len(e.Tier)
	}
	return n
}

// Validate checks a bag that was stored or replayed. The error is a *DecodeError.
func (m Metadata) Validate() error {
	if len(m) > maxMetadataKeys || m.size() > maxMetadataBytes {
		return &DecodeError{Offset: -1,
			Reason: fmt.Sprintf("metadata beyond %d keys or %d bytes", maxMetadataKeys, maxMetadataBytes)}
	}
	for k, e := range m {
		if reason := checkKey(k); reason != "" || k == callerKey {
			return &DecodeError{Pointer: Join("", k), Offset: -1, Reason: "not a metadata key"}
		}
		if err := checkJSON(e.Value, limits{}); err != nil {
			return under(err, Join("", k, "value"))
		}
	}
	return nil
}
