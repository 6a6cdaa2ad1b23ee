package conformance

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/phases"
)

// Host runs one turn of one module. An implementation makes a new instance each time.
type Host interface {
	// Run loads the module and calls the phase. Whatever the guest does is an Outcome;
	// the error says that the host itself could not do its work, or is ErrNotOffered.
	Run(ctx context.Context, r Request) (Outcome, error)
}

// ErrNotOffered is the error of a host without leases and tools of its own for a request
// with Chain: the ABI lets it answer those calls with -7. The rule then does not count.
var ErrNotOffered = errors.New("this host does not offer it")

// Request is one turn.
type Request struct {
	Module  []byte            `json:"module"`
	Phase   phases.Phase      `json:"phase"`
	Mutator bool              `json:"mutator"` // it takes its turn among the mutators
	Tier    phases.Tier       `json:"tier"`
	Observe bool              `json:"observe"` // it only observes
	Again   bool              `json:"again"`   // a mutator that is asked once more, when all have had their turn
	Input   jsontext.Value    `json:"input"`   // the document that input_* shows
	Action  jsontext.Value    `json:"action"`  // the action alone
	Config  jsontext.Value    `json:"config,omitzero"`
	Granted []string          `json:"granted"` // capabilities; nil (null): everything that the module imports
	State   map[string][]byte `json:"state"`   // of the hook, before the turn
	Fuel    int64             `json:"fuel"`    // budget
	Time    time.Time         `json:"time"`
	Seed    [32]byte          `json:"seed"` // of the random stream

	// Answers are the replies to request_tool_call, http_request and the lease calls, by the
	// name of the call. A call without an answer returns -7.
	Answers map[string]Answer `json:"answers,omitzero"`

	// Chain asks for the complete host instead of Answers: the hook is the only one that is
	// bound, the store is empty, leases are the host's own with its defaults, a tool
	// replies with the answer named "tool", and http_request may go to Hosts.
	Chain bool     `json:"chain"`
	Hosts []string `json:"hosts,omitzero"` // HOST:PORT
}

// Answer is the answer to one call.
type Answer struct {
	Errno int32          `json:"errno,omitzero"` // below zero: the call is refused
	Reply jsontext.Value `json:"reply,omitzero"` // beside an errno: the explanation
	Size  int            `json:"size,omitzero"`  // instead of a reply: a JSON string of so many bytes, quotes included
}

// document is the reply of the answer, nil when there is none.
func (a *Answer) document() jsontext.Value {
	if a.Size > 0 {
		return jsontext.Value(`"` + strings.Repeat("x", max(a.Size-2, 0)) + `"`)
	}
	return a.Reply
}

// Outcome is the outcome of a turn.
type Outcome struct {
	Refused  string            `json:"refused,omitzero"`   // why the module was not loaded; "" when it was
	Fault    phases.Kind       `json:"fault,omitzero"`     // why the turn failed; "" when it did not
	FailText string            `json:"fail_text,omitzero"` // the last text of fail
	Effects  []phases.Effect   `json:"effects,omitzero"`   // that count
	Logs     []string          `json:"logs,omitzero"`      // lines that the host retains
	Dropped  int               `json:"dropped,omitzero"`   // lines that were cut or dropped
	State    map[string][]byte `json:"state,omitzero"`     // writes that count; null values remove
	Asked    []Asked           `json:"asked,omitzero"`     // requests that reached Answers or the tool, in order
	Wishes   []Asked           `json:"wishes,omitzero"`    // requests of an observing hook, which have no effect
	Turns    int               `json:"turns,omitzero"`     // how often the hook was called; 0 counts as 1
	Fuel     int64             `json:"fuel"`
}

// Asked is one request that left the hook: with Chain, the tool's name and arguments.
type Asked struct {
	Call    string         `json:"call"`
	Request jsontext.Value `json:"request"`
}

// defaultFuel is the budget of rules that name none.
const defaultFuel = 10 << 20

// now is the time of every turn.
var now = time.Unix(1_700_000_000, 7).UTC()

// turn makes the turn of the rule.
func (r *Rule) turn() (Request, error) {
	module, err := r.guest()
	if err != nil {
		return Request{}, fmt.Errorf("rule %s has no guest: %w", r.ID, err)
	}
	return r.request(module), nil
}

func (r *Rule) request(module []byte) Request {
	action := r.Action
	if len(action) == 0 {
		action = jsontext.Value(`{"tool":"exec","args":{}}`)
	}
	if r.Long > 0 {
		action = jsontext.Value(`{"tool":"exec","args":{"s":` + text(strings.Repeat("x", r.Long)) + `}}`)
	}
	req := Request{
		Module: module, Phase: r.Phase, Mutator: r.Pass != phases.PassValidate, Tier: r.Tier, Observe: r.Observe,
		Again: r.Again, Action: action,
		Config: r.Config, State: map[string][]byte{}, Fuel: r.Fuel, Time: now, Seed: [32]byte{1, 2, 3},
		Answers: r.Answers, Chain: r.Chain, Hosts: r.Hosts,
	}
	if req.Phase == "" {
		req.Phase = phases.PreTool
	}
	if req.Tier == "" {
		req.Tier = phases.Sandboxed
	}
	req.Input = flat(action, req.Phase)
	if req.Fuel == 0 {
		req.Fuel = defaultFuel
	}
	if r.Granted != nil {
		req.Granted = append([]string{}, *r.Granted...)
	}
	for k, v := range r.State {
		req.State[k] = []byte(v)
	}
	return req
}

// flat puts members of the invocation beside those of the action.
func flat(action jsontext.Value, p phases.Phase) jsontext.Value {
	return jsontext.Value(strings.TrimSuffix(string(action), "}") + `,"phase":"` + string(p) +
		`","session":"s-1","cwd":"/home/dev/project"}`)
}
