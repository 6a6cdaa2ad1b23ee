// Package statelog decides what becomes of the event log of one state directory: when
// checkpoints are signed and into which files, what the log is verified against, which
// events are compacted, and how a database that went back is recovered.
//
// It never writes a verdict and never lets an action pass: while a required file of
// checkpoints fails, it refuses what would be recorded. It compacts nothing that it could
// not verify before. The Merkle tree and the signed statements are those of package eventlog.
package statelog

import (
	"errors"

	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/eventlog"
	"github.com/belay-hooks/belay/internal/store/marked"
)

// Classes of errors, for errors.Is.
var (
	// ErrWrong: the event log differs from the signed one; the evidence of that
	// stays.
	ErrWrong = errors.New("the event log is wrong")
	// ErrSinkBehind: a file of belay.yaml lacks events that would be removed.
	ErrSinkBehind = errors.New("a sink lacks events")
	// ErrRecoveryBegun: a recovery of the PostgreSQL that belay.db is forwarded to has begun and has not ended.
	ErrRecoveryBegun = marked.ErrBegun

	// ErrNothingToRecover: belay.db is not behind its mark, and its rows are those that the log records.
	ErrNothingToRecover = errors.New("belay.db is not behind its high-water mark, " +
		"and its rows are those that the log records: there is nothing to recover")
)

var errNoKey = errors.New("the checkpoint key is not in the state directory")

// Report is the outcome of a verification of the event log.
type Report = eventlog.Report

// Configuration is what the log needs to know of the configuration in force.
type Configuration struct {
	File     *config.File // must not be changed afterwards
	Revision string       // of configuration and trust policy, as in verdicts

	// Unusable says why belay.yaml cannot be used; nil when it can, and when there is none.
	Unusable error
}
