package phases

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Decision is the chain's answer in one word.
type Decision string

const (
	Allow Decision = "allow"
	Ask   Decision = "ask"
	Block Decision = "block"
)

// Enforced says how a verdict takes effect.
type Enforced string

const (
	EnforcedDirect    Enforced = "direct"    // the runtime carries it out
	EnforcedLatched   Enforced = "latched"   // the event could not be blocked: the session is latched instead
	EnforcedDelegated Enforced = "delegated" // the runtime asks the person itself
	EnforcedNone      Enforced = "none"      // observed only
)

// Verdict is the chain's combined answer, in the form that `belay eval` and
// POST /v1/invoke answer with. A zero Verdict is not valid: its Decision is empty,
// which every caller must treat as a block.
type Verdict struct {
	ID        string         `json:"id"`
	Phase     Phase          `json:"phase"`
	Decision  Decision       `json:"decision"`
	Reason    string         `json:"reason,omitzero"`
	Kind      Kind           `json:"kind,omitzero"`       // policy, or the failure
	DecidedBy string         `json:"decided_by,omitzero"` // binding name, or "belay" for the kernel itself
	Action    jsontext.Value `json:"action,omitzero"`     // the final action where it Runs; else empty
	Changed   []string       `json:"changed"`             // pointers into the action, sorted
	Scopes    Scopes         `json:"scopes"`
	Metadata  Metadata       `json:"metadata"`
	Contexts  []string       `json:"contexts"`
	Reply     *Reply         `json:"reply"`
	Retry     *Retry         `json:"retry"`
	Artifacts []Artifact     `json:"artifacts"`
	Approval  *ApprovalRef   `json:"approval"`
	Grant     *Grant         `json:"grant"`
	Masked    []string       `json:"masked"` // pointers into the record that redaction covered
	// names what decided: sha256:<hex> of belay.yaml, and +sha256:<hex> of the trust policy where there is one
	PolicyRevision string       `json:"policy_revision"`
	Enforced       Enforced     `json:"enforced"`
	Hooks          []HookReport `json:"hooks"`
	Event          *EventRef    `json:"event"`
	ActionDigest   string       `json:"action_digest,omitzero"` // sha256 of the canonical final action
	Notes          []string     `json:"notes,omitzero"`         // what an operator should know, such as unsafe modes
}

// Runs reports whether the action may run as it stands: it is allowed, or the runtime
// itself asks the person about it, with its own prompt, and runs it after a yes. Of a
// block, and of an ask that waits in the queue, nothing may run, and Action is empty:
// once the person has said yes, the caller asks again and gets an allow.
func (v *Verdict) Runs() bool {
	return v.Decision == Allow || v.Decision == Ask && v.Enforced == EnforcedDelegated && v.Approval == nil
}

// Withhold takes the action out of a verdict of which nothing may run, and with it what
// was changed in it. Events hold both.
func (v *Verdict) Withhold() {
	if !v.Runs() {
		v.Action, v.Changed = nil, []string{}
	}
}

// Reply is an answer that a hook gives instead of the model.
type Reply struct {
	Text string `json:"text"`
	Hook string `json:"hook"`
}

// Retry asks the agent to go on and try again with an instruction, at most Max times in a run.
type Retry struct {
	Instruction string `json:"instruction"`
	Max         int    `json:"max"`
	Hook        string `json:"hook"`
}

// Artifact is a document that a hook leaves beside the verdict.
type Artifact struct {
	Name      string         `json:"name"`
	MediaType string         `json:"media_type"`
	Text      string         `json:"text,omitzero"`
	Data      []byte         `json:"data_base64,omitzero"`
	Meta      jsontext.Value `json:"meta,omitzero"`
	Hook      string         `json:"hook"`
}

// Grant says that a trusted hook spared the agent its own permission prompt.
type Grant struct {
	Reason string `json:"reason"`
	Hook   string `json:"hook"`
}

// ApprovalRef points at the queue item that a person will decide.
type ApprovalRef struct {
	ID      string    `json:"id"`
	Expires time.Time `json:"expires,omitzero"`
}

// EventRef points at the verdict's event.
type EventRef struct {
	Seq int64  `json:"seq"`
	ID  string `json:"id"`
}

// Mode says whether a binding's effects count.
type Mode string

const (
	Enforce Mode = "enforce"
	Observe Mode = "observe"
)

// HookDecision is what one hook's turn amounted to.
type HookDecision string

const (
	HookNone      HookDecision = "none"      // no opinion
	HookTransform HookDecision = "transform" // changed something, or added to the verdict
	HookBlock     HookDecision = "block"
	HookAsk       HookDecision = "ask"
	HookGrant     HookDecision = "grant"
	HookError     HookDecision = "error"
)

// Pass is the turn in which a hook ran (Kubernetes admission's two passes).
type Pass string

const (
	PassMutate   Pass = "mutate"
	PassValidate Pass = "validate"
	PassObserve  Pass = "observe"
	PassAudit    Pass = "audit"
)

// HookReport tells what one hook did in one turn.
type HookReport struct {
	Hook       string       `json:"hook"` // binding name
	Version    string       `json:"version,omitzero"`
	Digest     string       `json:"digest"` // sha256:<hex> of the file
	Tier       Tier         `json:"tier"`
	Mode       Mode         `json:"mode"`
	Pass       Pass         `json:"pass,omitzero"`
	Decision   HookDecision `json:"decision"`
	Reason     string       `json:"reason,omitzero"`
	Kind       Kind         `json:"kind,omitzero"` // the failure, when Decision is error
	Effects    []Effect     `json:"effects"`
	Fuel       int64        `json:"fuel"`
	MemoryPeak int64        `json:"memory_peak"` // bytes
	Hostcalls  int          `json:"hostcalls"`
	DurationUS int64        `json:"duration_us"`
	Notes      []string     `json:"notes,omitzero"`
}
