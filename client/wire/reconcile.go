package wire

import "time"

// FindingKind says what is wrong with a session's log, or with belay's, as the two are compared.
type FindingKind string

const (
	// FindingUnasked: the log has a call for which there is no verdict.
	FindingUnasked FindingKind = "unasked"
	// FindingUncalled: there is a verdict for a call that the log does not have.
	FindingUncalled FindingKind = "uncalled"
	// FindingChanged: a call has other arguments, or another tool, than belay decided.
	FindingChanged FindingKind = "changed"
	// FindingDenied: a call has run although belay refused it.
	FindingDenied FindingKind = "denied"
	// FindingDoubled: the log tells of two calls with one id.
	FindingDoubled FindingKind = "doubled"
	// FindingRewritten: the log is shorter than when belay read it before, or differs in what was read then.
	FindingRewritten FindingKind = "rewritten"
)

// FindingKinds returns all kinds, in the order in which people are shown them.
func FindingKinds() []FindingKind {
	return []FindingKind{FindingUnasked, FindingDenied, FindingChanged, FindingUncalled, FindingDoubled, FindingRewritten}
}

// Text says what the kind means.
func (k FindingKind) Text() string {
	switch k {
	case FindingUnasked:
		return "a call without a verdict"
	case FindingUncalled:
		return "a verdict without a call"
	case FindingChanged:
		return "a call with other arguments than belay decided"
	case FindingDenied:
		return "a call that ran although belay refused it"
	case FindingDoubled:
		return "two calls with one id"
	case FindingRewritten:
		return "a log that has changed since belay read it"
	}
	return string(k)
}

// Finding is one thing that is wrong. Members that do not apply are left out.
type Finding struct {
	Kind  FindingKind `json:"kind"`
	Call  string      `json:"call,omitzero"`  // the runtime's id of the call
	Tool  string      `json:"tool,omitzero"`  // as the runtime calls it
	Event int64       `json:"event,omitzero"` // number of the verdict's event
	Time  time.Time   `json:"time,omitzero"`  // of the call as the log says, or of the verdict
	Log   string      `json:"log,omitzero"`   // the file, where the finding is about a file
}

// ReconcileStatus is what a comparison has come to.
type ReconcileStatus string

const (
	// ReconcileAgrees: every call has its verdict, and every verdict its call.
	ReconcileAgrees ReconcileStatus = "agrees"
	// ReconcileUnknown: nothing is wrong as far as it could be told, and something could not be.
	ReconcileUnknown ReconcileStatus = "unknown"
	// ReconcileDiffers: there is at least one finding.
	ReconcileDiffers ReconcileStatus = "differs"
)

// MaxFindings is how many findings one Reconciliation lists at most; Found counts all.
const MaxFindings = 100

// Reconciliation is what the comparison of one session's log with belay's has come to.
type Reconciliation struct {
	Runtime string          `json:"runtime"`
	Session string          `json:"session,omitzero"`
	Log     string          `json:"log"` // the file that was compared
	Status  ReconcileStatus `json:"status"`

	Calls    int `json:"calls"`    // in the log
	Verdicts int `json:"verdicts"` // of the session
	Earlier  int `json:"earlier"`  // calls from before belay's first event, which are not judged
	// Unknown counts records that belay does not know, and calls and verdicts that could not be judged.
	Unknown int       `json:"unknown"`
	Why     []string  `json:"why,omitzero"` // for what is unknown
	Found   int       `json:"found"`
	List    []Finding `json:"findings,omitzero"`

	// Read is how far the session's files were read: the next comparison begins with it.
	Read []LogMark `json:"read,omitzero"`
}

// LogMark is how far a file was read, and what it held up to there.
type LogMark struct {
	File   string `json:"file"`   // relative to the runtime's directory
	Offset int64  `json:"offset"` // bytes, or calls where the log is a database
	Digest string `json:"digest"` // SHA-256, hexadecimal, of all before the offset
}

// Reconciled counts the sessions whose logs were compared in the last seven days, by their newest comparison.
type Reconciled struct {
	Sessions int `json:"sessions"`
	Agree    int `json:"agree"`
	Unknown  int `json:"unknown"` // not all could be compared, and nothing is wrong as far as it could
	Differ   int `json:"differ"`
	Calls    int `json:"calls"` // of all of them
	Found    int `json:"found"`
}

// Reconciliations are the sessions of one log.
type Reconciliations struct {
	Sessions []Reconciliation `json:"sessions"`
}
