package phases

// LatchKind says what made a latch. It decides what ends it.
type LatchKind string

const (
	LatchUnknown  LatchKind = "unknown"  // made by a version that did not record why
	LatchDecision LatchKind = "decision" // a hook, a scope or a person said no
	LatchFailure  LatchKind = "failure"  // a hook or belay failed while the event was judged
	LatchPayload  LatchKind = "payload"  // the payload or the invocation could not be judged
	LatchOverload LatchKind = "overload" // too many actions waited
	LatchStore    LatchKind = "store"    // the store could not be read or written
	LatchDeadline LatchKind = "deadline" // belay's own time for the event was over
	LatchStopped  LatchKind = "stopped"  // belay did not run, or ended in the middle of the question
)

// LatchKinds returns all kinds.
func LatchKinds() []LatchKind {
	return []LatchKind{LatchUnknown, LatchDecision, LatchFailure, LatchPayload, LatchOverload, LatchStore, LatchDeadline,
		LatchStopped}
}

// OwnMaking reports whether belay itself was the cause: such a latch can end with it.
func (k LatchKind) OwnMaking() bool {
	switch k {
	case LatchOverload, LatchStore, LatchDeadline, LatchStopped:
		return true
	}
	return false
}

// LatchEnd says what ends a latch beside a person.
type LatchEnd string

const (
	EndsByPerson  LatchEnd = ""       // nothing
	EndsByJudging LatchEnd = "judged" // the verdict on the event, if that is an allow that changes nothing
	EndsWithCause LatchEnd = "cause"  // the end of the cause: no enforcing hook would have judged the event
)
