package harness

import (
	"errors"
	"io"

	"github.com/belay-hooks/belay/internal/loader"
	"github.com/belay-hooks/belay/internal/recording"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// RecordOptions say who can open a recording. Exactly one of them is set: a recording
// holds originals, secrets included.
type RecordOptions struct {
	Recipients []string // age recipients (age1…)
	Passphrase string

	// UnsafePlaintext seals nothing: everyone who can read the file reads the originals.
	UnsafePlaintext bool
}

// Recorder writes the decisions of a host as a recording (belay-recording/v1). It is a
// kernel.Recorder, for belay.Options, and safe for concurrent use.
type Recorder struct {
	writer   *recording.Writer
	recorder *recording.Recorder
	seal     io.WriteCloser // nil: plain text
}

// Record begins a recording. The caller closes the Recorder, and closes w after it. An
// error says that no one or more than one way to open it is set, or that w fails.
func Record(w io.Writer, o RecordOptions) (*Recorder, error) {
	to, err := recipientsOf(o)
	if err != nil {
		return nil, err
	}
	r := &Recorder{}
	if to != nil {
		if r.seal, err = recording.Seal(w, to); err != nil {
			return nil, err
		}
		w = r.seal
	}
	r.writer, err = recording.NewWriter(w,
		recording.Header{Source: recording.SourceEval, CostTable: loader.CostTable})
	if err != nil {
		return nil, err
	}
	r.recorder = recording.NewRecorder(r.writer)
	return r, nil
}

// recipientsOf returns who can open a recording; nil for one in plain text.
func recipientsOf(o RecordOptions) (recording.Recipients, error) {
	ways := 0
	for _, set := range []bool{len(o.Recipients) > 0, o.Passphrase != "", o.UnsafePlaintext} {
		if set {
			ways++
		}
	}
	switch {
	case ways != 1:
		return nil, errors.New("a recording holds originals: set one of Recipients, Passphrase and UnsafePlaintext")
	case o.UnsafePlaintext:
		return nil, nil
	case o.Passphrase != "":
		return recording.PassphraseRecipients(o.Passphrase)
	}
	return recording.ParseRecipients(o.Recipients...)
}

// Wants implements kernel.Recorder: it is false after the first error of the writer.
func (r *Recorder) Wants(inv *phases.Invocation) bool { return r.recorder.Wants(inv) }

// Recorded implements kernel.Recorder. Close returns its error.
func (r *Recorder) Recorded(rec *kernel.Recording) { r.recorder.Recorded(rec) }

// Close writes the end of the recording, without which it counts as cut off, and returns
// the first error of the Recorder. The host has to be closed before.
func (r *Recorder) Close() error {
	err := errors.Join(r.recorder.Err(), r.writer.Close())
	if r.seal != nil {
		err = errors.Join(err, r.seal.Close())
	}
	return err
}

var _ kernel.Recorder = (*Recorder)(nil)
