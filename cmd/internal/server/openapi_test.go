package server

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/client"
	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/cmd/internal/hookcmd"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
)

type parameter struct {
	Name, In string
	Schema   struct {
		Ref              string `json:"$ref"`
		Type, Format     string
		Enum             []string
		Minimum, Maximum *int64
	}
}

type document struct {
	OpenAPI string
	Paths   map[string]map[string]struct {
		OperationID string
		Parameters  []parameter
		Security    []map[string][]string
		Own         string `json:"x-belay-own"` // who else, in system mode
		RequestBody any
		Responses   map[string]any
	}
	Components struct {
		SecuritySchemes map[string]any
		Schemas         map[string]struct {
			Properties map[string]any
			Required   []string
			Enum       []string
		}
	}
}

func readDocument(t *testing.T) document {
	t.Helper()
	var d document
	if err := json.Unmarshal(OpenAPI(), &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// Every route is documented, with its roles and parameters, and nothing else is.
func TestDocumentHasTheRoutes(t *testing.T) {
	d := readDocument(t)
	if d.OpenAPI != "3.1.0" {
		t.Errorf("version %q", d.OpenAPI)
	}
	routes := map[string]route{}
	for _, r := range new(Server).table() {
		routes[r.method+" "+r.path] = r
	}
	ids := map[string]bool{}
	for path, methods := range d.Paths {
		for method, op := range methods {
			name := strings.ToUpper(method) + " " + path
			r, known := routes[name]
			if !known {
				t.Errorf("%s is documented and does not exist", name)
				continue
			}
			delete(routes, name)
			var roles []client.Role
			for _, s := range op.Security {
				for scheme := range s {
					if _, ok := d.Components.SecuritySchemes[scheme]; !ok {
						t.Errorf("%s: no such scheme: %s", name, scheme)
					}
					roles = append(roles, client.Role(strings.TrimSuffix(scheme, "Token")))
				}
			}
			if op.Own != "" {
				roles = append(roles, roleOwn)
			}
			if !slices.Equal(roles, r.roles) {
				t.Errorf("%s: documented for %v, open to %v", name, roles, r.roles)
			}
			if (op.RequestBody != nil) != r.body {
				t.Errorf("%s: body documented %v, taken %v", name, op.RequestBody != nil, r.body)
			}
			var query []string
			for _, p := range op.Parameters {
				if p.In == "query" {
					query = append(query, p.Name)
				}
			}
			if !slices.Equal(query, r.query) {
				t.Errorf("%s: parameters documented %q, taken %q", name, query, r.query)
			}
			if op.OperationID == "" || ids[op.OperationID] || op.Responses["200"] == nil {
				t.Errorf("%s: operationId %q", name, op.OperationID)
			}
			ids[op.OperationID] = true
		}
	}
	for name := range routes {
		t.Errorf("%s is not documented", name)
	}
}

// The document names the runtimes of the registry, and no others.
func TestDocumentHasTheRuntimes(t *testing.T) {
	params := readDocument(t).Paths["/adapters/{runtime}"]["post"].Parameters
	if len(params) == 0 || params[0].Name != "runtime" || !slices.Equal(params[0].Schema.Enum, hookcmd.RuntimeNames()) {
		t.Errorf("documented %+v, known %q", params, hookcmd.RuntimeNames())
	}
}

// The schemas of requests have the members that the daemon takes, and no
// others.
func TestDocumentHasTheMembersOfRequests(t *testing.T) {
	d := readDocument(t)
	r := phases.Request{HoldsScopes: true, ParentScopes: &phases.Scopes{}, Invocation: phases.Invocation{
		ID: "01938c8e-7b1a-7c3d-8e4f-0123456789ab", Phase: phases.Spawn, Runtime: "custom", Session: "s", Agent: "a",
		Run: "r", User: "u", CWD: "/w",
		Action: []byte(`{"child":{"agent":"a"}}`), Scopes: phases.Scopes{Tools: phases.Scope{"*"}},
		Metadata:    map[string]jsontext.Value{"k": jsontext.Value("1")},
		Time:        time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		Traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
	}}
	whole, err := phases.EncodeRequest(r)
	if err != nil {
		t.Fatal(err)
	}
	alone, err := phases.EncodeInvocation(r.Invocation)
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{"Request": whole, "Invocation": alone} {
		var members map[string]any
		if err := json.Unmarshal(b, &members); err != nil {
			t.Fatal(err)
		}
		have, documented := slices.Sorted(maps.Keys(members)), slices.Sorted(maps.Keys(d.Components.Schemas[name].Properties))
		if !slices.Equal(have, documented) {
			t.Errorf("%s: documented %q, taken %q", name, documented, have)
		}
	}
}

// The schemas have the members of the types that are sent.
func TestDocumentHasTheMembers(t *testing.T) {
	d := readDocument(t)
	for name, v := range map[string]any{
		"Verdict": phases.Verdict{}, "HookReport": phases.HookReport{}, "EventRef": phases.EventRef{},
		"Event": phases.Event{},
		"Hook":  wire.Hook{}, "Latch": wire.Latch{}, "Session": wire.Session{}, "Daemon": wire.Daemon{},
		"Status": wire.Status{},
		"Health": wire.Health{}, "EffectiveConfig": wire.EffectiveConfig{}, "EffectiveHook": wire.EffectiveHook{},
		"EffectiveKey": wire.EffectiveKey{}, "Reloaded": client.Reloaded{}, "Compaction": client.Compaction{},
		"Compacted": wire.Compacted{}, "Answer": client.Answer{}, "Problem": wire.Problem{},
		"ProblemBody": wire.ProblemBody{},
		"Lease":       leases.View{}, "LeaseHolder": leases.Holder{}, "LeaseScope": leases.Scope{},
		"LeaseIssuer": leases.Issuer{}, "LeaseMinted": client.LeaseMinted{}, "LeaseRevoke": client.LeaseRevoke{},
		"LeaseCheck": client.LeaseCheck{}, "LeaseChecked": client.LeaseChecked{},
		"Approval": approvals.Item{}, "ApprovalDecision": approvals.Decision{}, "Proposal": approvals.Proposal{},
	} {
		have := map[string]bool{}
		for f := range fieldsOf(reflect.TypeOf(v)) {
			have[f] = true
			if _, ok := d.Components.Schemas[name].Properties[f]; !ok && name != "HookReport" {
				t.Errorf("%s.%s is not documented", name, f)
			}
		}
		for f := range d.Components.Schemas[name].Properties {
			if !have[f] {
				t.Errorf("%s.%s is documented and does not exist", name, f)
			}
		}
	}
	var codes struct {
		Components struct {
			Schemas struct {
				ProblemBody struct {
					Properties struct{ Code struct{ Enum []string } }
				}
			}
		}
	}
	if err := json.Unmarshal(OpenAPI(), &codes); err != nil {
		t.Fatal(err)
	}
	want := []string{wire.CodeInvocation, wire.CodeRequest, wire.CodeToken, wire.CodeRole, wire.CodeForbidden,
		wire.CodeNotFound, wire.CodeMethod,
		wire.CodeConfig, wire.CodeConflict, wire.CodeSignature, wire.CodeLog, wire.CodeQuota, wire.CodeTooLarge,
		wire.CodeMediaType, wire.CodeInternal, wire.CodeOverloaded, wire.CodeStore}
	if got := codes.Components.Schemas.ProblemBody.Properties.Code.Enum; !slices.Equal(got, want) {
		t.Errorf("codes: %q, want %q", got, want)
	}
	if bytes.Contains(OpenAPI(), []byte("TODO")) {
		t.Error("unfinished")
	}
}

func fieldsOf(t reflect.Type) map[string]bool {
	out := map[string]bool{}
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if name != "" && name != "-" {
			out[name] = true
		}
	}
	return out
}
