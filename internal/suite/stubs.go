package suite

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/hostcalls"
	"github.com/belay-hooks/belay/internal/rig"
)

// Stub is the host's answer to one kind of hostcall during a case. Analyses (shell_parse,
// find_secrets) have none: their answer follows from their arguments.
type Stub struct {
	Call string `json:"call"`
	// Request is a part of the requests that the stub answers; none fits every request. For
	// state_get it is the key.
	Request jsontext.Value `json:"request,omitzero"`
	// Reply is the answer: JSON of a call that replies, a text (or JSON, as its text)
	// for state_get, RFC 3339 or nanoseconds for time_now, hexadecimal bytes for
	// random, {"links": {path: target}, "absent": [path]} for path_resolve.
	Reply jsontext.Value `json:"reply,omitzero"`
	Errno string         `json:"errno,omitzero"` // absent, denied, invalid, budget, too_large, pending or unavailable
	Times int            `json:"times,omitzero"` // how often it is used; 0 means once at least
}

// Calls that a stub can answer.
const (
	callTime  = "time_now"
	callRand  = "random"
	callState = "state_get"
	callPath  = "path_resolve"
)

// ported reports whether something outside of the kernel carries the call out.
func ported(call string) bool {
	switch call {
	case rig.CallTool, rig.CallHTTP, rig.CallRequestLease, rig.CallCheckLease, rig.CallMintLease, rig.CallRevokeLease:
		return true
	}
	return false
}

// errnoOf is the number of an errno by its name; 0 when there is none.
func errnoOf(name string) hostcalls.Errno {
	for e := hostcalls.Absent; e >= hostcalls.Unavailable; e-- {
		if errnoName(e) == name {
			return e
		}
	}
	return 0
}

// errnoName is how suites call an errno; "" for 0.
func errnoName(e hostcalls.Errno) string {
	if e == 0 {
		return ""
	}
	return strings.ReplaceAll(e.String(), " ", "_")
}

// check returns a fault of the stub and its member; "" when there is none.
func (s *Stub) check() (member, text string) {
	switch {
	case s.Times < 0:
		return "/times", "must be greater than 0"
	case s.Errno != "" && errnoOf(s.Errno) == 0:
		return "/errno",
			fmt.Sprintf("%q is not an errno: absent, denied, invalid, budget, too_large, pending, unavailable", s.Errno)
	case len(s.Reply) == 0 && s.Errno == "":
		return "", "a stub answers with reply or errno"
	}
	if ported(s.Call) {
		return s.checkPorted()
	}
	switch s.Call {
	case callTime, callRand, callPath:
		if s.Errno != "" {
			return "/errno", s.Call + " never fails like this"
		}
		if len(s.Request) > 0 {
			return "/request", s.Call + " always has the same answer"
		}
	case callState:
		return s.checkState()
	default:
		if _, ok := hostcalls.Lookup(s.Call); ok {
			return "/call", s.Call + " has no stub: what it answers follows from its arguments"
		}
		return "/call", fmt.Sprintf("there is no hostcall %q", s.Call)
	}
	var err error
	switch s.Call {
	case callTime:
		_, err = s.time()
	case callRand:
		_, err = s.bytes()
	case callPath:
		_, err = s.files()
	}
	if err != nil {
		return "/reply", err.Error()
	}
	return "", ""
}

func (s *Stub) checkPorted() (member, text string) {
	if len(s.Request) > 0 && s.Request.Kind() != '{' {
		return "/request", "requests of " + s.Call + " are objects"
	}
	return "", ""
}

func (s *Stub) checkState() (member, text string) {
	e := errnoOf(s.Errno)
	switch {
	case e != 0 && len(s.Reply) > 0:
		return "/errno", "state_get answers a value or an errno, not both"
	case e != 0 && e != hostcalls.Absent && e != hostcalls.Unavailable:
		return "/errno", "state_get answers absent or unavailable"
	case e == hostcalls.Unavailable && len(s.Request) > 0:
		return "/request", "state is unavailable as a whole"
	case e == hostcalls.Unavailable:
		return "", ""
	case s.Request.Kind() != '"':
		return "/request", "request is the key, as a text"
	}
	return "", ""
}

// key and value are those of a state_get.
func (s *Stub) key() string { return textOf(s.Request) }

func (s *Stub) value() []byte {
	if s.Reply.Kind() == '"' {
		return []byte(textOf(s.Reply))
	}
	return slices.Clone([]byte(s.Reply))
}

func textOf(v jsontext.Value) string {
	var text string
	if json.Unmarshal(v, &text) != nil {
		return ""
	}
	return text
}

func (s *Stub) time() (time.Time, error) {
	switch s.Reply.Kind() {
	case '"':
		at, err := time.Parse(time.RFC3339Nano, textOf(s.Reply))
		if err == nil {
			return at, nil
		}
	case '0':
		var ns int64
		if json.Unmarshal(s.Reply, &ns) == nil {
			return time.Unix(0, ns).UTC(), nil
		}
	}
	return time.Time{}, fmt.Errorf("reply is a time such as 2026-01-02T03:04:05Z, or nanoseconds since 1970")
}

func (s *Stub) bytes() ([]byte, error) {
	b, err := hex.DecodeString(textOf(s.Reply))
	if err != nil || len(b) == 0 {
		return nil, fmt.Errorf("reply is bytes in hexadecimal, such as 00ff")
	}
	return b, nil
}

// stubFiles is a file system in which every path exists and none is a link, but for those
// that it names.
type stubFiles struct {
	Links  map[string]string `json:"links,omitzero"`
	Absent []string          `json:"absent,omitzero"`
}

func (s *Stub) files() (f stubFiles, err error) {
	if err := json.Unmarshal(s.Reply, &f, json.RejectUnknownMembers(true)); err != nil {
		return f, fmt.Errorf(`reply is {links: {path: target}, absent: [path]}`)
	}
	for p := range f.Links {
		if !strings.HasPrefix(p, "/") {
			return f, fmt.Errorf("%q: links stand at absolute paths", p)
		}
	}
	return f, nil
}
