package tiers

import "errors"

// Classes of errors, for errors.Is. A Code is a class too.
var (
	ErrManifest   = errors.New("manifest not valid")   // the manifest is malformed or contradicts itself
	ErrCapability = errors.New("capability not valid") // a capability's text is malformed
	// a binding's configuration does not fit the manifest's schema
	ErrConfig = errors.New("configuration not accepted")
)

// Error is a fault in a manifest, a capability, a configuration or a hook's
// signatures. Field names the member (a JSON Pointer, or empty); Text is
// for people, and safe to show.
type Error struct {
	Class error
	Field string
	Text  string
	Cause error
	// Faults are, for ErrConfig, the members of the configuration at fault, at most 8; Text has them all.
	Faults []ConfigFault
}

// ConfigFault is one fault of a configuration.
type ConfigFault struct {
	Pointer string // RFC 6901, into the configuration: the member itself, also one that the schema does not know
	Text    string // for people, with the place
}

func (e *Error) Error() string {
	s := e.Class.Error() + ": "
	if e.Field != "" {
		s += e.Field + ": "
	}
	return s + e.Text
}

// Is reports the class.
func (e *Error) Is(target error) bool { return target == e.Class }

// Unwrap returns the cause, if any.
func (e *Error) Unwrap() error { return e.Cause }
