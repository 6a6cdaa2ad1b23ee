package server

import (
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/belay-hooks/belay/internal/daemonapi"
	"github.com/belay-hooks/belay/phases"
)

// Every parameter of every list is read as openapi.json documents it: at its
// limits and in all its words it is taken, and one step beyond it is refused.
func TestParametersAreReadAsDocumented(t *testing.T) {
	d := readDocument(t)
	for path, read := range map[string]func(*params){
		"/v1/events":         func(p *params) { eventQuery(p); p.boolean("follow") },
		"/v1/approvals":      func(p *params) { approvalQuery(p) },
		"/v1/approvals/{id}": func(p *params) { p.duration("wait", daemonapi.MaxWait) },
		"/v1/leases":         func(p *params) { leaseQuery(p) },
		"/v1/recording": func(p *params) {
			for _, name := range []string{"seconds", "count"} {
				if !p.has(name) {
					p.values[name] = "1"
				}
			}
			_, _, _ = span(p)
		},
	} {
		op := d.Paths[path]["get"]
		var names []string
		for _, p := range op.Parameters {
			names = append(names, p.Name)
		}
		try := func(query string) error {
			p := parameters(query, names)
			read(p)
			return p.err
		}
		count := 0
		for _, p := range op.Parameters {
			if p.In != "query" {
				continue
			}
			count++
			good, bad := documentedValues(t, p)
			for _, v := range good {
				if err := try(url.Values{p.Name: {v}}.Encode()); err != nil {
					t.Errorf("%s?%s=%s: %v", path, p.Name, v, err)
				}
				if err := try(url.Values{p.Name: {v, v}}.Encode()); err == nil || !strings.Contains(err.Error(), "more than once") {
					t.Errorf("%s?%s twice: %v", path, p.Name, err)
				}
				if err := try(url.Values{p.Name: {v}, "x\x1b": {"1"}}.Encode()); err == nil ||
					!strings.Contains(err.Error(), "is not known here") || strings.Contains(err.Error(), "\x1b") {
					t.Errorf("%s?%s with an unknown one: %q", path, p.Name, err)
				}
				if err := try(p.Name + "=" + url.QueryEscape(v) + "&%zz"); err == nil {
					t.Errorf("%s?%s with what cannot be unescaped is taken", path, p.Name)
				}
			}
			for _, v := range append(bad, "", strings.Repeat("1", phases.MaxIDBytes+1)) {
				if err := try(url.Values{p.Name: {v}}.Encode()); err == nil ||
					!strings.Contains(err.Error(), strconv.Quote(p.Name)) {
					t.Errorf("%s?%s=%.40s: %v", path, p.Name, v, err)
				}
			}
		}
		if count == 0 {
			t.Errorf("%s documents no parameters", path)
		}
	}
}

// documentedValues makes values that the schema allows, and others that it does not.
func documentedValues(t *testing.T, p parameter) (good, bad []string) {
	t.Helper()
	enum := p.Schema.Enum
	switch p.Schema.Ref {
	case "#/components/schemas/Phase":
		for _, w := range phases.Phases() {
			enum = append(enum, string(w))
		}
	case "#/components/schemas/Kind":
		for _, w := range phases.Kinds() {
			enum = append(enum, string(w))
		}
	case "":
	default:
		t.Fatalf("%s: %s is not read here", p.Name, p.Schema.Ref)
	}
	switch {
	case p.Name == "wait":
		return []string{"0s", "1.5s", daemonapi.MaxWait.String()},
			[]string{"1", "-1s", (daemonapi.MaxWait + time.Millisecond).String(), "NaN"}
	case enum != nil:
		return enum, []string{"x", strings.ToUpper(enum[0]), " " + enum[0], enum[0] + "," + enum[0]}
	case p.Schema.Type == "integer":
		least, most := *p.Schema.Minimum, int64(math.MaxInt64)
		bad = []string{"x", "1.0", "1e3", "0x1", "+1", " 1", "1_0", "-1", "9223372036854775808",
			strconv.FormatInt(least-1, 10)}
		if p.Schema.Maximum != nil {
			most = *p.Schema.Maximum
			bad = append(bad, strconv.FormatInt(most+1, 10))
		}
		return []string{strconv.FormatInt(least, 10), strconv.FormatInt(most, 10)}, bad
	case p.Schema.Type == "boolean":
		return []string{"true", "false", "1", "0"}, []string{"yes", "TRUE", "t", "2"}
	case p.Schema.Format == "date-time":
		return []string{"2026-01-02T03:04:05Z", "2026-01-02T03:04:05.000000001+01:00"},
			[]string{"yesterday", "2026-01-02", "1767322800"}
	case p.Schema.Type == "string":
		return []string{"x", "ü", strings.Repeat("x", phases.MaxIDBytes)}, nil
	}
	t.Fatalf("%s: nothing is known about its schema", p.Name)
	return nil, nil
}

// The words that the document lists are the ones that there are.
func TestDocumentHasTheWords(t *testing.T) {
	d := readDocument(t)
	for _, p := range d.Paths["/v1/events"]["get"].Parameters {
		if p.Name != "type" && p.Name != "except" {
			continue
		}
		var want []string
		for _, w := range phases.EventTypes() {
			want = append(want, string(w))
		}
		if !slices.Equal(p.Schema.Enum, want) {
			t.Errorf("%s: %q, want %q", p.Name, p.Schema.Enum, want)
		}
	}
	var kinds []string
	for _, k := range phases.Kinds() {
		kinds = append(kinds, string(k))
	}
	if got := d.Components.Schemas["Kind"].Enum; !slices.Equal(got, kinds) {
		t.Errorf("kinds: %q, want %q", got, kinds)
	}
}
