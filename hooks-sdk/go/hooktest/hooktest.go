// Package hooktest stands in for belay in native tests of a hook:
//
//	got := hooktest.New(`{"tool":"exec","args":{"command":"reboot"}}`).Run(preTool)
//	if got.Blocked != "no reboots" { ... }
//
// It answers reads and state, keeps effects in a list, and gives analysis calls
// the replies that the test has set. It never judges: capabilities, limits and
// legality are the real host's, and `belay test` runs a hook there.
package hooktest

import (
	"encoding/json"
	"strconv"
	"strings"
	"sync"

	"github.com/belay-hooks/belay/hooks-sdk/go/internal/host"
)

// Effect is one thing that the hook asked for.
type Effect struct {
	Call  string // the host function, such as "rewrite"
	Path  string // rewrite, redact: JSON Pointer; annotate: key
	Value string // text, label or JSON
	Kind  string // rewrite: "json", "text" or "remove"
}

// Line is one line of the hook's log.
type Line struct {
	Level int32
	Text  string
}

// Outcome is what came of a call.
type Outcome struct {
	Status  int32    // what the function returned; 0 is success
	Failed  string   // the text given to hook.Fail
	Blocked string   // the first reason given to hook.Block
	Effects []Effect // in order; none when the hook failed
	Logs    []Line
	State   map[string]string // the hook's state afterwards
}

// Host answers one call of a phase function. Use New.
type Host struct {
	input, config string
	replies       map[string]string
	codes         map[string]int32
	state         map[string]string
	reply         string
	now           int64
	seed          uint64
	out           Outcome
}

var running sync.Mutex // hooks know only one host, so they run one at a time

// New returns a host with an input document: the members of the action and of
// the invocation, side by side. It panics when that is not JSON.
func New(input string) *Host {
	mustBeJSON(input)
	return &Host{
		input: input, config: "{}", replies: map[string]string{}, codes: map[string]int32{}, state: map[string]string{},
	}
}

func mustBeJSON(s string) {
	if !json.Valid([]byte(s)) {
		panic("hooktest: not JSON: " + s)
	}
}

// Config sets the configuration.
func (h *Host) Config(json string) *Host {
	mustBeJSON(json)
	h.config = json
	return h
}

// Reply sets what a call such as "shell_parse" replies. Without it the call
// answers that it is not available.
func (h *Host) Reply(call, json string) *Host {
	mustBeJSON(json)
	h.replies[call] = json
	return h
}

// Refuse lets a call answer an error code.
func (h *Host) Refuse(call string, code int32) *Host {
	h.codes[call] = code
	return h
}

// RefuseWith lets a call answer an error code and explain itself in a document,
// such as {"reason":"..."}.
func (h *Host) RefuseWith(call string, code int32, json string) *Host {
	return h.Refuse(call, code).Reply(call, json)
}

// State sets the bytes under a state key.
func (h *Host) State(key, value string) *Host {
	h.state[key] = value
	return h
}

// Time sets the invocation's time in nanoseconds since 1970.
func (h *Host) Time(unixNano int64) *Host {
	h.now = unixNano
	return h
}

// Run calls a phase function. As on the real host, a failure drops all effects.
func (h *Host) Run(phase func() int32) Outcome {
	running.Lock()
	defer running.Unlock()
	before := host.Set((*answers)(h))
	defer host.Set(before)
	h.out = Outcome{}
	h.out.Status = phase()
	h.out.State = h.state
	if h.out.Status != 0 {
		h.out.Effects, h.out.Blocked = nil, ""
	}
	return h.out
}

// answers keeps the methods of host.Host out of Host's own.
type answers Host

func (a *answers) Read(call, arg string, dst []byte) int32 {
	var s string
	switch call {
	case "input_read":
		s = a.input
	case "config_read":
		s = a.config
	case "reply_read":
		s = a.reply
	case "state_get":
		v, ok := a.state[arg]
		if !ok {
			return -1
		}
		s = v
	default:
		raw, code := a.find(call, arg)
		if code < 0 {
			return code
		}
		if raw[0] == '"' {
			_ = json.Unmarshal(raw, &s) // the document was checked as a whole
		} else {
			s = string(raw)
		}
	}
	if len(s) <= len(dst) {
		copy(dst, s)
	}
	return int32(len(s))
}

func (a *answers) Call(call, x, y string) int32 {
	switch call {
	case "input_kind", "config_kind":
		raw, code := a.find(call, x)
		if code < 0 {
			return code
		}
		return kindOf(raw)
	case "input_keys", "config_keys":
		a.reply = ""
		raw, code := a.find(call, x)
		if code < 0 {
			return code
		}
		return a.keys(raw)
	case "fail":
		a.out.Failed = x
	case "state_put":
		if a.state[x] = y; y == "" {
			delete(a.state, x)
		}
	case "block":
		if a.out.Blocked == "" {
			a.out.Blocked = x
		}
		a.out.Effects = append(a.out.Effects, Effect{Call: call, Value: x})
	case "redact", "annotate":
		a.out.Effects = append(a.out.Effects, Effect{Call: call, Path: x, Value: y})
	case "request_approval", "clamp_scopes", "add_context", "retry", "reply", "put_artifact", "grant":
		a.out.Effects = append(a.out.Effects, Effect{Call: call, Value: x})
	default:
		reply, ok := a.replies[call]
		a.reply = reply
		if code, refused := a.codes[call]; refused {
			return code
		}
		if !ok {
			return -7
		}
		return int32(len(reply))
	}
	return 0
}

func (a *answers) Rewrite(path, value string, kind int32) int32 {
	if kind < 0 || kind > 2 || kind == 2 && value != "" || kind == 0 && !json.Valid([]byte(value)) {
		return -3
	}
	a.out.Effects = append(a.out.Effects, Effect{Call: "rewrite", Path: path, Value: value, Kind: []string{"json", "text", "remove"}[kind]})
	return 0
}

func (a *answers) Log(level int32, text string) int32 {
	a.out.Logs = append(a.out.Logs, Line{level, text})
	return 0
}

func (a *answers) TimeNow() int64 { return a.now }

// Random gives a fixed sequence, as the real one is fixed for each invocation.
func (a *answers) Random(dst []byte) int32 {
	for i := range dst {
		a.seed = a.seed*6364136223846793005 + 1442695040888963407
		dst[i] = byte(a.seed >> 56)
	}
	return 0
}

func (a *answers) keys(raw json.RawMessage) int32 {
	switch kindOf(raw) {
	case 4:
		var items []json.RawMessage
		_ = json.Unmarshal(raw, &items)
		a.reply = strconv.Itoa(len(items))
	case 5:
		dec := json.NewDecoder(strings.NewReader(string(raw)))
		_, _ = dec.Token()
		names := []string{}
		for dec.More() {
			name, _ := dec.Token()
			names = append(names, name.(string))
			var skip json.RawMessage
			_ = dec.Decode(&skip)
		}
		b, _ := json.Marshal(names)
		a.reply = string(b)
	default:
		return -1
	}
	return int32(len(a.reply))
}

func kindOf(raw json.RawMessage) int32 {
	switch raw[0] {
	case 'n':
		return 0
	case 't', 'f':
		return 1
	case '"':
		return 3
	case '[':
		return 4
	case '{':
		return 5
	}
	return 2
}

func (a *answers) find(call, pointer string) (json.RawMessage, int32) {
	doc := a.input
	if strings.HasPrefix(call, "config") {
		doc = a.config
	}
	raw := json.RawMessage(strings.TrimSpace(doc))
	if pointer == "" {
		return raw, 0
	}
	if pointer[0] != '/' {
		return nil, -3
	}
	for _, step := range strings.Split(pointer[1:], "/") {
		step = strings.ReplaceAll(strings.ReplaceAll(step, "~1", "/"), "~0", "~")
		switch kindOf(raw) {
		case 4:
			var items []json.RawMessage
			_ = json.Unmarshal(raw, &items)
			i, err := strconv.Atoi(step)
			if err != nil || strconv.Itoa(i) != step || i < 0 {
				return nil, -3
			}
			if i >= len(items) {
				return nil, -1
			}
			raw = items[i]
		case 5:
			var members map[string]json.RawMessage
			_ = json.Unmarshal(raw, &members)
			v, ok := members[step]
			if !ok {
				return nil, -1
			}
			raw = v
		default:
			return nil, -1
		}
	}
	return raw, 0
}
