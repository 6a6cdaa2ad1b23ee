package harness

import (
	"io"

	"github.com/belay-hooks/belay/internal/recording"
)

// Keys open sealed recordings. The zero value opens none.
type Keys struct {
	Identities []byte // the text of a file of age identities (AGE-SECRET-KEY-1…)
	Passphrase string // for recordings that are sealed with one; suites never name such
}

// identities are the keys that open recordings sealed for keys; nil for none.
func (k Keys) identities() (recording.Identities, error) {
	if len(k.Identities) == 0 {
		return nil, nil
	}
	return recording.ParseIdentities(k.Identities)
}

// open returns a reader of the recording in r. name stands in errors.
func (k Keys) open(r io.Reader, name string) (*recording.Reader, error) {
	in, how := recording.Look(r)
	var ids recording.Identities
	var err error
	switch how {
	case recording.Plain:
		return recording.NewReader(in, name)
	case recording.ForPassphrase:
		if k.Passphrase != "" {
			ids, err = recording.PassphraseIdentities(k.Passphrase)
		}
	default:
		ids, err = k.identities()
	}
	if err != nil {
		return nil, err
	}
	if in, err = recording.Unseal(in, name, ids); err != nil {
		return nil, err
	}
	return recording.NewReader(in, name)
}
