package hostcalls_test

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/hostcalls"
	"github.com/belay-hooks/belay/phases"
)

// ports answer everything, each in its own way.
type ports struct{ err error }

func (p ports) Get(_ context.Context, key string) ([]byte, int64, error) {
	return []byte("value of " + key), 7, p.err
}
func (p ports) Usage(context.Context) (int, int, error) { return 3, 99, p.err }
func (p ports) RunTool(_ context.Context, _ phases.Actor, r jsontext.Value) (jsontext.Value, error) {
	return r, p.err
}
func (p ports) DoHTTP(_ context.Context, _ phases.Actor, r jsontext.Value) (jsontext.Value, error) {
	return r, p.err
}
func (p ports) Readlink(_ context.Context, path string) (string, error) {
	switch path {
	case "/w/link":
		return "/w/target", nil
	case "/w", "/w/target":
		return "", hostcalls.ErrNotLink
	case "/w/locked":
		return "", fs.ErrPermission
	}
	return "", fs.ErrNotExist
}

func do(t *testing.T, s *hostcalls.Session, name string, in ...string) hostcalls.Result {
	t.Helper()
	c, ok := hostcalls.Lookup(name)
	if !ok {
		t.Fatal(name)
	}
	a := hostcalls.Args{Cap: 1 << 16}
	for i, x := range in {
		a.In[i] = []byte(x)
	}
	r, err := s.Do(t.Context(), &c, &a)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return r
}

func tracedSession(t *testing.T, tr *hostcalls.Trace, p ports) *hostcalls.Session {
	t.Helper()
	grants, err := hostcalls.ParseGrants([]string{"request_tool_call", "http_request", "state_get", "state_put",
		"path_resolve", "check_lease"})
	if err != nil {
		t.Fatal(err)
	}
	cfg := hostcalls.SessionConfig{
		Phase: phases.PreTool, Pass: phases.PassValidate,
		Input:  jsontext.Value(`{"tool":"exec","args":{"command":"` + strings.Repeat("x", 6000) + `"}}`),
		Action: jsontext.Value(`{"tool":"exec","args":{}}`), Actor: phases.Actor{Tier: phases.Trusted}, CWD: "/w",
		Granted: grants,
		State:   p, Tools: p, HTTP: p, Files: p,
	}
	s, err := hostcalls.NewSession(cfg.Record(tr))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestTraceHasCallsAndAnswers(t *testing.T) {
	var tr hostcalls.Trace
	s := tracedSession(t, &tr, ports{})
	do(t, s, "input_get", "/tool")
	do(t, s, "input_get", "/args/command")
	do(t, s, "input_get", "/nothing")
	do(t, s, "request_tool_call", `{"a":1}`)
	do(t, s, "state_put", "k", "v")
	do(t, s, "state_get", "k")
	do(t, s, "path_resolve", `{"paths":["link","locked","gone"]}`)
	do(t, s, "http_request", `{"b":2}`)
	do(t, s, "check_lease", `{}`) // there is no ledger

	var names []string
	for _, c := range tr.Calls {
		names = append(names, c.Name)
	}
	if got := strings.Join(names,
		" "); got != "input_get input_get input_get request_tool_call state_put state_get path_resolve http_request check_lease" {
		t.Fatalf("calls: %s", got)
	}
	if c := tr.Calls[0]; !c.In[0].Is([]byte("/tool")) || !c.Out.Is([]byte("exec")) || c.Cap != 1<<16 {
		t.Errorf("%+v", c)
	}
	if c := tr.Calls[1]; c.Out.Len != 6000 || c.Out.Bytes != nil || !c.Out.Is([]byte(strings.Repeat("x", 6000))) ||
		c.Out.Is([]byte(strings.Repeat("y", 6000))) {
		t.Errorf("a long answer: %+v", c.Out)
	}
	if c := tr.Calls[2]; c.Code != int64(hostcalls.Absent) {
		t.Errorf("%+v", c)
	}
	if c := tr.Calls[3]; !c.Reply.Is([]byte(`{"a":1}`)) || c.Code != 7 {
		t.Errorf("%+v", c)
	}
	if c := tr.Calls[8]; c.Code != int64(hostcalls.Unavailable) {
		t.Errorf("%+v", c)
	}
	var answers []string
	for _, a := range tr.Answers {
		answers = append(answers, a.Port+" "+string(a.Request)+" "+string(a.Reply)+" "+a.Err)
	}
	want := []string{
		`request_tool_call {"a":1} {"a":1} `, "state k value of k ", "state_usage   ",
		"readlink /w  plain", "readlink /w/link /w/target ", "readlink /w/target  plain", "readlink /w/locked  unknown",
		"readlink /w/gone  absent",
		`http_request {"b":2} {"b":2} `,
	}
	if strings.Join(answers, "\n") != strings.Join(want, "\n") {
		t.Errorf("answers:\n%s", strings.Join(answers, "\n"))
	}
	if a := tr.Answers[2]; a.Keys != 3 || a.Bytes != 99 {
		t.Errorf("%+v", a)
	}
	if got := strings.Join(tr.Ports, " "); got != "state tools http files" || tr.Incomplete {
		t.Errorf("ports %s, incomplete %v", got, tr.Incomplete)
	}
}

func TestTraceOfErrors(t *testing.T) {
	for _, c := range []struct {
		err   error
		errno hostcalls.Errno
		text  string
	}{{hostcalls.Pending, hostcalls.Pending, ""}, {errors.New("broken"), 0, "broken"}} {
		var tr hostcalls.Trace
		s := tracedSession(t, &tr, ports{err: c.err})
		call, _ := hostcalls.Lookup("request_tool_call")
		_, err := s.Do(t.Context(), &call, &hostcalls.Args{In: [2][]byte{[]byte("{}")}})
		if a := tr.Answers[0]; a.Errno != c.errno || a.Err != c.text || a.Reply != nil {
			t.Errorf("%v: %+v", c.err, a)
		}
		if got := tr.Calls[0].Fault; (err != nil) != (got == phases.KindHostcall) {
			t.Errorf("%v: %q", err, got)
		}
	}
	for _, state := range []string{"", "absent", "plain", "unknown"} {
		err := hostcalls.FileError(state)
		if (state == "") != (err == nil) || (state == "absent") != errors.Is(err, fs.ErrNotExist) ||
			(state == "plain") != errors.Is(err, hostcalls.ErrNotLink) {
			t.Errorf("%q: %v", state, err)
		}
	}
}

func TestTraceIsBounded(t *testing.T) {
	var tr hostcalls.Trace
	s := tracedSession(t, &tr, ports{})
	for range hostcalls.MaxTraceCalls {
		do(t, s, "input_kind", "/tool")
	}
	if tr.Incomplete || len(tr.Calls) != hostcalls.MaxTraceCalls {
		t.Fatalf("%d calls, incomplete %v", len(tr.Calls), tr.Incomplete)
	}
	do(t, s, "input_kind", "/tool")
	if !tr.Incomplete || len(tr.Calls) != hostcalls.MaxTraceCalls {
		t.Errorf("%d calls, incomplete %v", len(tr.Calls), tr.Incomplete)
	}
}
