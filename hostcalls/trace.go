package hostcalls

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io/fs"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/internal/links"
	"github.com/belay-hooks/belay/phases"
)

// Limits of one trace. A turn that goes beyond them is traced as incomplete.
const (
	MaxTraceCalls = 1 << 14  // calls of one turn
	MaxTraceValue = 4 << 10  // bytes of an argument or answer that is kept; of longer ones the digest
	MaxTraceBytes = 16 << 20 // bytes of all kept values and port answers of one turn
)

// Names of ports in a trace; the calls that a port carries out have their own.
const (
	PortState    = "state"
	PortUsage    = "state_usage"
	PortReadlink = "readlink"
)

// Trace is everything that went to and fro between one turn and its host, in
// order. It holds originals: nothing in it is redacted. It is used by the turn's
// goroutine alone, and not changed after the turn.
type Trace struct {
	Calls      []TracedCall
	Answers    []PortAnswer
	Ports      []string // which ports there were: state, tools, leases, http, files
	Incomplete bool     // beyond a limit: it cannot be replayed exactly

	bytes int
}

// TracedValue is an argument or an answer. Bytes is nil when Len is over MaxTraceValue.
type TracedValue struct {
	Len   int
	Bytes []byte
	Sum   [sha256.Size]byte // SHA-256; zero when Bytes has it all
}

// TracedCall is one call of the guest with its answer.
type TracedCall struct {
	Name  string
	In    []TracedValue
	Long  [2]bool // see Args
	I32   int32
	Cap   uint32
	Code  int64 // as Result has it
	Out   TracedValue
	Reply TracedValue // as left in the reply buffer, for calls that reply
	Fuel  int64       // charged in addition to the table's cost
	Fault phases.Kind // why the call ended the turn; "" when it did not
}

// PortAnswer is what one port said to one request. Err is the text of an error
// that is no Errno; the turn ended with it, except of the port readlink, whose
// errors are written as words: absent, plain or unknown.
type PortAnswer struct {
	Port    string // a Port constant or the name of the call
	Request []byte
	Reply   []byte
	Version int64 // of state
	Keys    int   // of state_usage
	Bytes   int   // of state_usage
	Errno   Errno
	Err     string
	Fuel    int64 // that the port charged to the call; a replay of the answer charges it again
}

// ValueOf makes the traced form of bytes.
func ValueOf(b []byte) TracedValue {
	v := TracedValue{Len: len(b)}
	if len(b) > MaxTraceValue {
		v.Sum = sha256.Sum256(b)
	} else {
		v.Bytes = bytes.Clone(b)
	}
	return v
}

// Is reports whether the bytes are the traced ones.
func (v *TracedValue) Is(b []byte) bool {
	switch {
	case v.Len != len(b):
		return false
	case v.Len > MaxTraceValue:
		return v.Sum == sha256.Sum256(b)
	}
	return bytes.Equal(v.Bytes, b)
}

// Called implements Tap.
func (t *Trace) Called(c *Call, a *Args, result Result, reply []byte, err error) {
	if len(t.Calls) >= MaxTraceCalls || t.bytes > MaxTraceBytes {
		t.Incomplete = true
		return
	}
	call := TracedCall{Name: c.Name, Long: a.Long, I32: a.I32, Cap: a.Cap, Code: result.Code, Out: ValueOf(result.Out),
		Fuel: result.Fuel}
	for _, in := range Inputs(c, a) {
		call.In = append(call.In, ValueOf(in))
		t.bytes += min(len(in), MaxTraceValue)
	}
	if c.Replies {
		call.Reply = ValueOf(reply)
	}
	if f := phases.FaultOf(err); f != nil {
		call.Fault = f.Kind
	}
	t.bytes += min(len(result.Out), MaxTraceValue) + min(len(reply), MaxTraceValue)
	t.Calls = append(t.Calls, call)
}

// Inputs returns the arguments that the call's signature has.
func Inputs(c *Call, a *Args) [][]byte {
	n := 0
	for _, p := range c.Params {
		if p == ParamIn {
			n++
		}
	}
	return a.In[:n]
}

func (t *Trace) add(p PortAnswer) {
	if t.bytes > MaxTraceBytes {
		t.Incomplete = true
		return
	}
	t.bytes += len(p.Request) + len(p.Reply)
	t.Answers = append(t.Answers, p)
}

// Record returns the configuration with everything that goes through its ports
// and calls written to the trace. Ports that are missing stay missing.
func (c SessionConfig) Record(trace *Trace) SessionConfig {
	c.Tap = trace
	if c.State != nil {
		trace.Ports = append(trace.Ports, "state")
		c.State = tracedState{trace, c.State}
	}
	if c.Tools != nil {
		trace.Ports = append(trace.Ports, "tools")
		c.Tools = tracedTools{trace, c.Tools}
	}
	if c.Leases != nil {
		trace.Ports = append(trace.Ports, "leases")
		c.Leases = tracedLeases{trace, c.Leases}
	}
	if c.HTTP != nil {
		trace.Ports = append(trace.Ports, "http")
		c.HTTP = tracedHTTP{trace, c.HTTP}
	}
	if c.Files != nil {
		trace.Ports = append(trace.Ports, "files")
		c.Files = tracedFiles{trace, c.Files}
	}
	return c
}

// asked is a port's method that carries a request out.
type asked func(ctx context.Context, by phases.Actor, request jsontext.Value) (jsontext.Value, error)

// ask has a request carried out by its port, and traces the answer.
func (t *Trace) ask(ctx context.Context, name string, by phases.Actor, request jsontext.Value,
	port asked) (jsontext.Value, error) {
	reply, err := port(ctx, by, request)
	p := PortAnswer{Port: name, Request: bytes.Clone(request), Reply: bytes.Clone(reply), Fuel: Charged(ctx)}
	if err != nil {
		var r *Refusal
		p.Reply = nil
		switch {
		case errors.As(err, &r):
			p.Errno, p.Reply = r.Errno, bytes.Clone(r.Reply)
		case !errors.As(err, &p.Errno):
			p.Err = err.Error()
		}
	}
	t.add(p)
	return reply, err
}

type tracedState struct {
	t    *Trace
	port StateReader
}

func (s tracedState) Get(ctx context.Context, key string) ([]byte, int64, error) {
	value, version, err := s.port.Get(ctx, key)
	s.t.add(PortAnswer{Port: PortState, Request: []byte(key), Reply: bytes.Clone(value), Version: version,
		Err: textOf(err)})
	return value, version, err
}

func (s tracedState) Usage(ctx context.Context) (int, int, error) {
	keys, size, err := s.port.Usage(ctx)
	s.t.add(PortAnswer{Port: PortUsage, Keys: keys, Bytes: size, Err: textOf(err)})
	return keys, size, err
}

func textOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

type tracedTools struct {
	t    *Trace
	port ToolRunner
}

func (s tracedTools) RunTool(ctx context.Context, by phases.Actor, request jsontext.Value) (jsontext.Value, error) {
	return s.t.ask(ctx, "request_tool_call", by, request, s.port.RunTool)
}

type tracedHTTP struct {
	t    *Trace
	port HTTPDoer
}

func (s tracedHTTP) DoHTTP(ctx context.Context, by phases.Actor, request jsontext.Value) (jsontext.Value, error) {
	return s.t.ask(ctx, "http_request", by, request, s.port.DoHTTP)
}

type tracedLeases struct {
	t    *Trace
	port LeaseLedger
}

func (s tracedLeases) Request(ctx context.Context, by phases.Actor, request jsontext.Value) (jsontext.Value, error) {
	return s.t.ask(ctx, "request_lease", by, request, s.port.Request)
}

func (s tracedLeases) Check(ctx context.Context, by phases.Actor, request jsontext.Value) (jsontext.Value, error) {
	return s.t.ask(ctx, "check_lease", by, request, s.port.Check)
}

func (s tracedLeases) Mint(ctx context.Context, by phases.Actor, request jsontext.Value) (jsontext.Value, error) {
	return s.t.ask(ctx, "mint_lease", by, request, s.port.Mint)
}

func (s tracedLeases) Revoke(ctx context.Context, by phases.Actor, request jsontext.Value) (jsontext.Value, error) {
	return s.t.ask(ctx, "revoke_lease", by, request, s.port.Revoke)
}

type tracedFiles struct {
	t    *Trace
	port FileSystem
}

func (s tracedFiles) Readlink(ctx context.Context, path string) (string, error) {
	target, err := s.port.Readlink(ctx, path)
	p := PortAnswer{Port: PortReadlink, Request: []byte(path), Reply: []byte(target)}
	if err != nil {
		p.Err = links.StateOf(err)
	}
	s.t.add(p)
	return target, err
}

var errUnknownFile = errors.New("cannot be told")

// FileError is the error that a FileSystem gave when its trace says err.
func FileError(err string) error {
	switch err {
	case "":
		return nil
	case links.NotThere:
		return fs.ErrNotExist
	case links.Plain:
		return ErrNotLink
	}
	return errUnknownFile
}
