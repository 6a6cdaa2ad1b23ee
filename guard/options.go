package guard

import (
	"context"
	"maps"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/phases"
)

// Host decides and records. *belay.Belay and *kernel.Kernel are hosts. A verdict has to
// be logged when InvokeWith returns. Safe for concurrent use.
type Host interface {
	InvokeWith(ctx context.Context, inv phases.Invocation, o kernel.InvokeOptions) (phases.Verdict, error)
	// Approval returns an item of the queue that people decide, as it stands now.
	Approval(ctx context.Context, id string) (approvals.Item, error)
}

// Options say who acts, within what, and what to do when hooks ask for a person. Names
// are those of phases.Invocation and have its limits.
type Options struct {
	Runtime string // the agent runtime: your program's name
	Session string // metadata, leases and latches belong to it
	Agent   string // "" for the main agent
	Run     string // one user turn: metadata is carried along it
	User    string
	CWD     string // absolute path that relative paths of tools start from, or ""

	// Credential is what the program has seen of who acts for itself, such as a uid.
	// Quotas and approvals are by it. "" stands for the user of this process.
	Credential string

	// Tools says what the agent's own tools do in belay's words, by the names that the agent gives
	// them: {"run_it": "exec"} has hooks judge run_it as a command. Values are normalised names, such
	// as those of phases.KnownTools; a name that is yours alone keeps belay from taking a tool for
	// another: {"search": "crm_search"}. Names that are not here are read by phases.NormalizeTool.
	// Hooks see the lists of tools in Spawn and Send as they are given; what a child may use is held
	// to the names here.
	Tools map[string]string

	// Scopes are what may be touched at most; the zero value is everything.
	Scopes phases.Scopes

	// HoldsScopes: the run function of Tool holds the tool to the scopes that it is given,
	// such as by a sandbox. Without it a tool whose reach cannot be told, such as a
	// command, is blocked where scopes restrict it.
	HoldsScopes bool

	// Wait is how long one call waits for people to decide in belay's queue. With 0 it does
	// not wait, and an ask is ErrUnanswered at once.
	Wait time.Duration

	// Waiting is told, if set, that a call is about to wait for the approval that the
	// verdict names. Calls at the same time tell it at the same time, as they do Prompt.
	Waiting func(v phases.Verdict)

	// Prompt puts the question to the person itself and returns the answer; then nothing
	// is queued, and Wait and Waiting are not used. An error counts as no answer. The
	// verdict holds reason and action.
	Prompt func(ctx context.Context, v phases.Verdict) (approved bool, err error)
}

// Guard guards the steps of one agent in one run. It does not change, is cheap to make,
// and is safe for concurrent use. A nil Guard, and one without a host, lets nothing happen.
type Guard struct {
	host  Host
	o     Options
	depth int // of the agent: 0 for the main one
}

// New returns a Guard of the main agent. The host must stay open while it is used.
func New(host Host, o Options) *Guard {
	o.Scopes, o.Tools = o.Scopes.Clone(), maps.Clone(o.Tools)
	return &Guard{host: host, o: o}
}

// Within returns a Guard of the same agent whose steps are held to the scopes as well.
func (g *Guard) Within(s phases.Scopes) *Guard {
	if g == nil {
		return nil
	}
	narrowed := *g
	narrowed.o.Scopes = g.o.Scopes.Intersect(s)
	return &narrowed
}

// Allowed is a step that may happen, or an outcome that may be used.
type Allowed[A any] struct {
	Action   A              // of the verdict, decoded: the only form that may be used
	Contexts []string       // what hooks want the agent to read, of all phases of the step in order
	Verdict  phases.Verdict // of the step's last phase: Reply, Retry, Artifacts, Notes…
}

// invocation returns the invocation of an action.
func (g *Guard) invocation(phase phases.Phase, action jsontext.Value) phases.Invocation {
	return phases.Invocation{
		Phase: phase, Action: action, Runtime: g.o.Runtime, Session: g.o.Session, Agent: g.o.Agent,
		Run: g.o.Run, User: g.o.User, CWD: g.o.CWD, Scopes: g.o.Scopes,
	}
}
