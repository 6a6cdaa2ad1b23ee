package conformance

import (
	"context"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

//go:generate go run ../../internal/hookbuild/buildexamples -C harness/conformance/sdk

// Behaviour is one thing that a hook written with an SDK does when /args/do names it.
type Behaviour struct {
	ID      string                    `json:"id"` // the value of /args/do
	Rule    string                    `json:"rule"`
	Args    map[string]jsontext.Value `json:"args,omitzero"` // beside it
	Long    int                       `json:"long,omitzero"` // /args/s is a text of so many bytes
	Config  jsontext.Value            `json:"config,omitzero"`
	Granted *[]string                 `json:"granted,omitzero"`
	State   map[string]string         `json:"state,omitzero"`
	Answers map[string]Answer         `json:"answers,omitzero"`
	Want    Want                      `json:"want"`
}

// Behaviours returns the behaviours that every SDK needs.
func Behaviours() ([]Behaviour, error) {
	var doc struct {
		Behaviours []Behaviour `json:"behaviours"`
	}
	if err := decode("behaviours.yaml", &doc); err != nil {
		return nil, err
	}
	return doc.Behaviours, nil
}

// turn makes the turn for a hook that was built with an SDK.
func (b *Behaviour) turn(module []byte) (Request, error) {
	args := map[string]jsontext.Value{"do": jsontext.Value(text(b.ID))}
	for k, v := range b.Args {
		args[k] = v
	}
	if b.Long > 0 {
		args["s"] = jsontext.Value(text(strings.Repeat("x", b.Long)))
	}
	action, err := json.Marshal(map[string]any{"tool": "exec", "args": args}, json.Deterministic(true))
	if err != nil {
		return Request{}, err
	}
	r := Rule{ID: b.ID, Action: action, Config: b.Config, Granted: b.Granted, State: b.State, Answers: b.Answers,
		Fuel: 100 << 20}
	return r.request(module), nil
}

// Verify runs a hook that was built with an SDK, and returns one sentence for each
// difference from Want.
func (b *Behaviour) Verify(ctx context.Context, h Host, module []byte) ([]string, error) {
	req, err := b.turn(module)
	if err != nil {
		return nil, err
	}
	return verify(ctx, h, req, &b.Want, b.ID)
}

// RunSDK verifies every behaviour of a hook that was built with an SDK, each as a subtest
// of t, which is a *testing.T.
func RunSDK[T tester[T]](t T, h Host, module []byte) {
	t.Helper()
	list, err := Behaviours()
	if err != nil {
		t.Fatal(err)
	}
	for i := range list {
		t.Run(list[i].ID, func(t T) {
			t.Helper()
			bad, err := list[i].Verify(t.Context(), h, module)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range bad {
				t.Errorf("%s\n  the rule: %s", s, list[i].Rule)
			}
		})
	}
}
