package conformance

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/phases"
)

// Host runs one turn of one module. An implementation makes a new instance each time.
type Host interface {
	// Run loads the module and calls the phase. Whatever the guest does is an Outcome;
	// the error says that the host itself could not do its work.
	Run(ctx context.Context, r Request) (Outcome, error)
}

// Request is one turn.
type Request struct {
	Module  []byte
	Phase   phases.Phase
	Mutator bool              // it takes its turn among the mutators
	Input   jsontext.Value    // the document that input_* shows
	Action  jsontext.Value    // the action alone
	Config  jsontext.Value    // nil: none
	Granted []string          // capabilities; nil: everything that the module imports
	State   map[string][]byte // what the hook keeps
	Fuel    int64             // budget
	Time    time.Time
	Seed    [32]byte // of the random stream
}

// Outcome is what came of a turn.
type Outcome struct {
	Refused  string            // why the module was not loaded; "" when it was
	Fault    phases.Kind       // why the turn failed; "" when it did not
	FailText string            // the last text of fail
	Effects  []phases.Effect   // that count
	Logs     []string          // lines that are kept
	State    map[string][]byte // writes that count; nil values remove
	Fuel     int64
}

// DefaultFuel is the budget of rules that do not say.
const DefaultFuel = 10 << 20

// now is the time of every turn.
var now = time.Unix(1_700_000_000, 7).UTC()

// Request makes the turn of the rule.
func (r *Rule) Request() (Request, error) {
	module, err := r.Guest()
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
	req := Request{
		Module: module, Phase: phases.PreTool, Mutator: r.Pass != phases.PassValidate, Action: action,
		Input: flat(action, phases.PreTool), Config: r.Config, State: map[string][]byte{}, Fuel: r.Fuel, Time: now, Seed: [32]byte{1, 2, 3},
	}
	if req.Fuel == 0 {
		req.Fuel = DefaultFuel
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
	return jsontext.Value(strings.TrimSuffix(string(action), "}") + `,"phase":"` + string(p) + `","session":"s-1","cwd":"/home/dev/project"}`)
}
