package hostcalls

import (
	"context"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/internal/links"
	"github.com/belay-hooks/belay/phases"
)

// Documents are what is known of the documents of a turn. One that is nil, or holds other memory than the member of
// SessionConfig that it is about, says nothing: the bytes are checked then.
type Documents struct {
	Input, Action, Config *phases.Strict
}

// SessionConfig is what one turn of one hook may see and do. Only Phase, Pass,
// Input and Action must be set; a missing provider makes its calls answer
// Unavailable, a missing grant makes them answer Denied. Other turns may share the
// memory of the documents: it is for reading only.
type SessionConfig struct {
	Phase    phases.Phase
	Pass     phases.Pass
	Input    jsontext.Value // the flat document that input_* shows: the action's members beside the envelope's
	Action   jsontext.Value // the action alone: what effects apply to
	Config   jsontext.Value // the binding's configuration; null when empty
	Checked  Documents      // so that they are not checked again
	Actor    phases.Actor   // who asks; Rewrite and Grants are set from Granted
	Granted  Grants         // declared ∩ allowed ∩ ceiling of the tier
	Limits   Limits
	Time     time.Time // the invocation's time
	Seed     [32]byte  // of the invocation's random stream for this turn
	Random   []byte    // what the turn draws before that stream, for tests of hooks; usually nil
	InitSeed [32]byte  // of the stream during start and _initialize: SHA-256("belay init" ‖ file digest)
	Home     string    // what ~ means to path_resolve; empty when not known
	CWD      string    // what relative paths are relative to; empty when not known
	Scopes   phases.Scopes
	Observe  bool // calls with a provider are recorded as wishes and answer Unavailable

	State  StateReader
	Tools  ToolRunner
	Leases LeaseLedger
	HTTP   HTTPDoer
	Files  FileSystem // nil: symbolic links are not looked at

	Inject Injector // nil: every call is answered as it should be, for tests of hooks
	Tap    Tap      // nil: no observer
}

// Session is one turn of one hook. It collects what the hook asks for and
// carries nothing out. It is used by one goroutine.
type Session struct {
	cfg    SessionConfig
	limits Limits
	init   bool

	input, config document
	null          jsontext.Value // what config is where there is none; renewed sessions share it
	reply         []byte

	effects   effectLog
	poison    *phases.Fault
	failText  string
	logs      []LogEntry
	dropped   int
	hostcalls int
	gated     int
	wishes    []Wish

	initRandom, random stream
	wall, mono         time.Duration

	state     stateView
	fileReads []links.Found
	fileSeen  map[string]int
}

// NewSession checks the documents and returns a session for one turn. The error
// is a *phases.Fault: kind protocol for a document that is not strict JSON or
// over its limit, kind load for a configuration that is not valid.
func NewSession(cfg SessionConfig) (*Session, error) {
	session := new(Session)
	if err := session.Renew(&cfg); err != nil {
		return nil, err
	}
	return session, nil
}

// Renew makes the session that of another turn, as NewSession does, and copies cfg. What the turn before has returned
// stays as it is. After an error the session is of no use until it is renewed again. Precondition: the turn before has
// ended.
func (s *Session) Renew(cfg *SessionConfig) error {
	null := s.null
	*s = Session{} // then each member in its place: what is made on the stack first costs more than all the rest
	s.cfg, s.limits = *cfg, cfg.Limits
	s.limits.setDefaults()
	if s.null = null; null == nil {
		s.null = jsontext.Value("null")
	}
	if !cfg.Phase.Valid() {
		return phases.NewFault(phases.KindProtocol, "unknown phase", nil)
	}
	s.cfg.Actor.Rewrite, s.cfg.Actor.Grants = cfg.Granted.rewrite, cfg.Granted.effects
	s.effects.action = cfg.Action
	if !cfg.Checked.Action.Holds(cfg.Action) && !cfg.Action.IsValid() {
		return phases.NewFault(phases.KindProtocol, "the action is not valid", errDocument)
	}
	var err error
	if s.input, err = newDocument(cfg.Input, cfg.Checked.Input, s.limits.Input); err != nil {
		return phases.NewFault(phases.KindProtocol, "the input document is not valid", err)
	}
	if cfg.Config == nil {
		s.config = document{raw: s.null}
	} else if s.config, err = newDocument(cfg.Config, cfg.Checked.Config, s.limits.Input); err != nil {
		return phases.NewFault(phases.KindLoad, "the hook's configuration is not valid", err)
	}
	s.initRandom.seed = cfg.InitSeed
	s.random.seed, s.random.rest = cfg.Seed, cfg.Random
	return nil
}

// BeginInit says that guest code of start or _initialize is about to run: only
// log, fail and the WASI stub work, anything else ends the turn.
func (s *Session) BeginInit() { s.init = true }

// EndInit says that the phase's export is about to run.
func (s *Session) EndInit() { s.init = false }

// Do answers one call of the guest: it checks that the call may be made at all,
// runs its handler, and keeps the rule that an effect which is refused fails the
// turn. It is the only way in for the sandbox. A non-nil error is a
// *phases.Fault and ends the turn at once.
func (s *Session) Do(ctx context.Context, c *Call, a *Args) (Result, error) {
	s.hostcalls++
	res, err := s.do(ctx, c, a)
	if s.cfg.Tap != nil {
		s.cfg.Tap.Called(c, a, res, s.reply, err)
	}
	return res, err
}

func (s *Session) do(ctx context.Context, call *Call, args *Args) (res Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			res, err = Result{}, handlerFault(call.Name, fmt.Errorf("panic: %v", p))
		}
	}()
	if s.init && !call.InInit {
		return Result{}, phases.NewFault(phases.KindHostcall, "the hook made a call before its phase began",
			fmt.Errorf("%s during start or _initialize", call.Name))
	}
	if call.Replies {
		s.reply = nil
	}
	if e := s.admit(call, args); e != 0 {
		return s.refused(call, e, "not admitted")
	}
	if s.cfg.Inject != nil {
		if res, ok := s.cfg.Inject.Inject(s.hostcalls, call, args); ok {
			if res.Code < 0 {
				return s.refused(call, Errno(res.Code), "injected")
			}
			return res, nil
		}
	}
	if res, err = call.Handle(ctx, s, args); err != nil {
		if phases.FaultOf(err) == nil {
			err = handlerFault(call.Name, err)
		}
		return Result{}, err
	}
	if res.Code < 0 && call.Result == ResultI32 {
		r := s.refuse(call, Errno(res.Code), "refused by its rules")
		r.Fuel = res.Fuel
		return r, nil
	}
	if call.Replies {
		if len(s.reply) > s.limits.Reply {
			s.reply = nil
			return Result{Code: int64(TooLarge), Fuel: res.Fuel}, nil
		}
		res.Code = int64(len(s.reply))
	}
	return res, nil
}

// admit decides whether the call may be made at all.
func (s *Session) admit(c *Call, a *Args) Errno {
	if c.Capability != "" && (!s.cfg.Granted.has(c.Capability) || s.cfg.Actor.Tier.Rank() < c.LeastTier.Rank()) {
		return Denied
	}
	if !c.LegalIn(s.cfg.Phase) {
		return Denied
	}
	if !c.Cuts && (a.Long[0] || a.Long[1]) {
		return TooLarge
	}
	if c.Counted {
		if s.gated >= s.limits.Calls {
			return Budget
		}
		s.gated++
	}
	return 0
}

// refused is refuse for a call that was not made. A call whose result is no errno ends
// the turn: guests would take -2 for an answer, and read a moment of 1969.
func (s *Session) refused(c *Call, e Errno, why string) (Result, error) {
	if c.Result != ResultI32 {
		return Result{}, phases.NewFault(phases.KindHostcall, "the hook called "+c.Name+", which it was not granted",
			fmt.Errorf("%s: %w (%s)", c.Name, e, why))
	}
	return s.refuse(c, e, why), nil
}

// refuse answers an errno; for an effect it poisons the turn.
func (s *Session) refuse(c *Call, e Errno, why string) Result {
	if c.Group == GroupEffects && s.poison == nil {
		s.poison = phases.NewFault(phases.KindOutput, "the hook asked for something that it may not do: "+c.Name+" in the phase "+
			phases.SafeLine(string(s.cfg.Phase), 32)+": "+e.String()+", "+why+"; "+phases.LegalIn(s.cfg.Phase),
			fmt.Errorf("%s: %w (%s)", c.Name, e, why))
	}
	return Result{Code: int64(e)}
}

func handlerFault(name string, cause error) *phases.Fault {
	return phases.NewFault(phases.KindHostcall, "a host function failed", fmt.Errorf("%s: %w", name, cause))
}

// Poison returns the fault (kind output) of the first effect call that was
// refused, or nil. The turn has failed then, whatever the export returns.
func (s *Session) Poison() *phases.Fault { return s.poison }

// Effects returns what the hook asked for, in order; nil after Poison. The
// caller takes them only when the export returned 0.
func (s *Session) Effects() []phases.Effect {
	if s.poison != nil {
		return nil
	}
	return s.effects.list
}

// Notes returns remarks for the record, such as effects dropped after a block.
func (s *Session) Notes() []string { return s.effects.notes() }

// FailText returns the last text given to fail, valid UTF-8, at most MaxFail bytes.
func (s *Session) FailText() string { return s.failText }

// Hostcalls returns how many calls the guest has made through Do, refused ones included.
func (s *Session) Hostcalls() int { return s.hostcalls }

// Wishes returns the calls that an observed hook made in vain.
func (s *Session) Wishes() []Wish { return s.wishes }

// LogEntry is one line that a hook logged. Text is valid UTF-8 but otherwise
// the guest's: escape it wherever it is shown.
type LogEntry struct {
	Level int // 0 debug, 1 info, 2 warn, 3 error
	Text  string
}

// Log keeps a line; also what the WASI stub's fd_write calls. Invalid UTF-8 is
// replaced, text beyond MaxLogText cut, entries beyond Limits.Logs dropped; cut
// and dropped entries are counted.
func (s *Session) Log(level int, text string) {
	if len(s.logs) >= s.limits.Logs {
		s.dropped++
		return
	}
	t := cutText(text, MaxLogText)
	if len(text) > MaxLogText {
		s.dropped++
	}
	s.logs = append(s.logs, LogEntry{Level: min(max(level, 0), 3), Text: t})
}

// Logs returns the lines kept.
func (s *Session) Logs() []LogEntry { return s.logs }

// LogsDropped returns how many entries were cut or dropped.
func (s *Session) LogsDropped() int { return s.dropped }

// cutText returns at most n bytes of valid UTF-8: invalid sequences are replaced
// by U+FFFD, and no rune is cut in two.
func cutText(s string, n int) string {
	if len(s) <= n && utf8.ValidString(s) {
		return s
	}
	out := make([]byte, 0, min(len(s), n))
	for _, r := range s {
		if len(out)+utf8.RuneLen(r) > n {
			break
		}
		out = utf8.AppendRune(out, r)
	}
	return string(out)
}

// portResult turns the answer of a port into a result: an Errno is the guest's,
// anything else ends the turn.
func (s *Session) portResult(name string, reply jsontext.Value, err error) (Result, error) {
	var e Errno
	var r *Refusal
	switch {
	case errors.As(err, &r) && r.Errno < 0:
		if r.Reply.IsValid() && len(r.Reply) <= s.limits.Reply {
			s.reply = r.Reply
		}
		return Result{Code: int64(r.Errno)}, nil
	case errors.As(err, &e) && e < 0:
		return Result{Code: int64(e)}, nil
	case err != nil:
		// Failures of the record stay failures: no mode lets them pass.
		if f := phases.FaultOf(err); f != nil &&
			(f.Kind == phases.KindStore || f.Kind == phases.KindRollback || f.Kind == phases.KindAudit) {
			return Result{}, f
		}
		return Result{}, handlerFault(name, err)
	case !reply.IsValid():
		return Result{}, handlerFault(name, errors.New("the reply is not JSON"))
	}
	s.reply = reply
	return Result{}, nil
}
