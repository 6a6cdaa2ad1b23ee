package opencode_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/adapters"
	"github.com/belay-hooks/belay/phases"
)

// answer is what the plugin reads.
type answer struct {
	Decision string        `json:"decision"`
	Reason   string        `json:"reason"`
	Set      []changeOfOne `json:"set"`
	Grant    bool          `json:"grant"`
}

type changeOfOne struct {
	Path  *string         `json:"path"`
	Value json.RawMessage `json:"value"` // nil: it stands there without one; null is a value
}

// readAnswer reads an answer as strictly as the plugin does.
func readAnswer(b []byte) (answer, error) {
	var a answer
	dec := json.NewDecoder(strings.NewReader(string(b)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&a); err != nil {
		return a, err
	}
	switch {
	case a.Decision == "block" && strings.TrimSpace(a.Reason) == "":
		return a, errors.New("a block without a reason")
	case a.Decision == "allow" && a.Reason != "", a.Decision != "block" && a.Decision != "allow":
		return a, fmt.Errorf("no decision: %q", a.Decision)
	case a.Decision == "block" && a.Grant:
		return a, errors.New("a block with a permission")
	}
	for _, c := range a.Set {
		if c.Path == nil {
			return a, errors.New("a change without a path")
		}
	}
	return a, nil
}

// effect is what the plugin has OpenCode do with an answer.
type effect struct {
	threw, rejected, granted bool
	output                   jsontext.Value // of the hook point, as it is then
}

// react does what the plugin does. A function of a bus event or of a start cannot hold anything up.
func react(event string, payload []byte, ans adapters.Answer) effect {
	output, _ := phases.Get(payload, "/output")
	e := effect{output: output}
	a, err := readAnswer(ans.Stdout)
	failed := err != nil || ans.Exit != 0
	if !failed || event == "experimental.text.complete" || event == "experimental.compaction.autocontinue" {
		for _, c := range a.Set {
			e.put(*c.Path, c.Value)
		}
	}
	permission := event == "permission.ask" || event == "permission.asked"
	switch {
	case permission:
		e.rejected = failed || a.Decision == "block"
		e.granted = !e.rejected && a.Grant
	case event == "event", event == "config", event == "dispose":
	case event == "experimental.text.complete" || event == "experimental.compaction.autocontinue":
		e.threw = failed && len(a.Set) == 0
	default:
		e.threw = failed || a.Decision == "block"
	}
	return e
}

// put makes a change; a nil value takes a member out.
func (e *effect) put(path string, value json.RawMessage) {
	if value != nil {
		if path == "" {
			e.output = jsontext.Value(value)
			return
		}
		if next, err := phases.Set(e.output, path, jsontext.Value(value)); err == nil {
			e.output = next
		}
		return
	}
	at := strings.LastIndexByte(path, '/')
	parent, _ := phases.Get(e.output, path[:at])
	var m map[string]json.RawMessage
	if json.Unmarshal(parent, &m) != nil {
		return
	}
	delete(m, strings.NewReplacer("~1", "/", "~0", "~").Replace(path[at+1:]))
	b, _ := json.Marshal(m)
	e.put(path[:at], b)
}

// held reports whether what a hook blocked does not happen.
func held(event string, payload []byte, ans adapters.Answer) bool {
	e := react(event, payload, ans)
	before, _ := phases.Get(payload, "/output")
	text, _ := phases.GetString(e.output, "/text")
	was, _ := phases.GetString(before, "/text")
	enabled, _ := phases.Get(e.output, "/enabled")
	switch {
	case e.threw, e.rejected, ans.Latch != "":
		return true
	case event == "experimental.text.complete":
		return text != was
	case event == "experimental.compaction.autocontinue":
		return string(enabled) == "false"
	}
	return false
}
