package phases

import "errors"

// Kind says why an action was stopped: by a hook's decision (policy) or by a
// failure. Kinds are few and stable; they cross the wire and stand in events.
type Kind string

const (
	KindPolicy   Kind = "policy"   // a hook decided
	KindTrap     Kind = "trap"     // the module trapped
	KindFuel     Kind = "fuel"     // the fuel budget is spent
	KindDeadline Kind = "deadline" // the deadline passed
	KindMemory   Kind = "memory"   // memory or stack beyond the cap
	KindOutput   Kind = "output"   // an effect was refused, or the hook failed by its own word
	KindHostcall Kind = "hostcall" // a bad pointer, a forbidden call, a handler that failed
	KindProtocol Kind = "protocol" // input, adapter or chain rule violated
	KindLoad     Kind = "load"     // the module or its configuration could not be loaded
	KindAudit    Kind = "audit"    // the audit phase or redaction failed
	KindStore    Kind = "store"    // the record could not be written
	KindRollback Kind = "rollback" // the database went back behind its high-water mark
	KindMismatch Kind = "mismatch" // a call ran otherwise than it was released
	KindHang     Kind = "hang"     // the hook ran on long after its deadline, and was left behind
)

// Kinds returns all kinds.
func Kinds() []Kind {
	return []Kind{KindPolicy, KindTrap, KindFuel, KindDeadline, KindMemory, KindOutput, KindHostcall, KindProtocol,
		KindLoad, KindAudit, KindStore, KindRollback, KindHang, KindMismatch}
}

// Fault is a failure of one hook or of the kernel. Text is safe to show to an
// agent or a person: a fixed sentence without guest text, paths or causes. The
// cause is for events and operators; errors.Is and errors.As see through to it.
type Fault struct {
	Kind  Kind
	Text  string
	Cause error
}

// NewFault returns a fault of the kind with a text that is safe to show.
func NewFault(k Kind, text string, cause error) *Fault {
	return &Fault{Kind: k, Text: text, Cause: cause}
}

// Error returns kind and safe text, never the cause.
func (f *Fault) Error() string { return string(f.Kind) + ": " + f.Text }

// Unwrap returns the cause.
func (f *Fault) Unwrap() error { return f.Cause }

// FaultOf returns the first Fault in err's tree, or nil.
func FaultOf(err error) *Fault {
	var f *Fault
	if errors.As(err, &f) {
		return f
	}
	return nil
}
