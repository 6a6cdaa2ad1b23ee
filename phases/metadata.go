package phases

import (
	"fmt"
	"maps"
	"strings"
)

// callerKey is where the caller's own metadata stands in the input document.
const callerKey = "caller"

// ApartPrefix begins the keys of what hooks that are kept apart have annotated. No key that a hook or a caller gives
// has a slash, so that none of the others is like one of these.
const ApartPrefix = "user/"

// IsApart reports whether the key is one that a hook which is kept apart has written: only such hooks see it.
func IsApart(key string) bool { return strings.HasPrefix(key, ApartPrefix) }

// measure counts the entries of hooks that are kept apart, or the others, with the bytes that count towards
// maxMetadataBytes: each part has the bounds alone.
func (m Metadata) measure(apart bool) (keys, bytes int) {
	for key, entry := range m {
		if IsApart(key) == apart {
			keys++
			bytes += entry.size(key)
		}
	}
	return keys, bytes
}

func (e *Entry) size(key string) int { return len(key) + len(e.Value) + len(e.Hook) + len(e.Tier) }

// hasApart reports whether a hook that is kept apart has written into the bag.
func (m Metadata) hasApart() bool {
	for key := range m {
		if IsApart(key) {
			return true
		}
	}
	return false
}

// annotate returns the bag with the effect's entry written. metadata is not changed.
// What a hook writes that is kept apart stands under ApartPrefix, and has bounds of its own.
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
	key := effect.Key
	if by.Apart {
		key = ApartPrefix + key
	}
	if old, ok := metadata[key]; ok && old.Tier.Rank() > by.Tier.Rank() {
		return nil, effectError(ErrDenied, effect, "a hook of a higher tier wrote this key")
	}
	if err := checkEffectValue(effect); err != nil {
		return nil, err
	}
	out := maps.Clone(metadata)
	if out == nil {
		out = Metadata{}
	}
	out[key] = Entry{Value: trim(effect.Value), Hook: by.Hook, Tier: by.Tier}
	keys, bytes := out.measure(by.Apart)
	if keys > maxMetadataKeys {
		return nil, effectError(ErrTooLarge, effect, "more than %d metadata keys", maxMetadataKeys)
	}
	if bytes > maxMetadataBytes {
		return nil, effectError(ErrTooLarge, effect, "more than %d bytes of metadata", maxMetadataBytes)
	}
	return out, nil
}

// size returns the bytes of all entries.
func (m Metadata) size() int {
	n := 0
	for key, entry := range m {
		n += entry.size(key)
	}
	return n
}

// Validate checks a bag that was stored or replayed. The error is a *DecodeError.
func (m Metadata) Validate() error {
	for _, apart := range [...]bool{false, true} {
		if keys, bytes := m.measure(apart); keys > maxMetadataKeys || bytes > maxMetadataBytes {
			return &DecodeError{Offset: -1,
				Reason: fmt.Sprintf("metadata beyond %d keys or %d bytes", maxMetadataKeys, maxMetadataBytes)}
		}
	}
	for k, e := range m {
		if reason := checkKey(strings.TrimPrefix(k, ApartPrefix)); reason != "" || k == callerKey {
			return &DecodeError{Pointer: Join("", k), Offset: -1, Reason: "not a metadata key"}
		}
		if err := checkJSON(e.Value, limits{}); err != nil {
			return under(err, Join("", k, "value"))
		}
	}
	return nil
}
