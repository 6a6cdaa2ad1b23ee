package abi_test

import (
	"context"
	"crypto/sha256"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/belay-hooks/belay/hostcalls"
	"github.com/belay-hooks/belay/internal/hookbuild"
	"github.com/belay-hooks/belay/internal/sandbox"
	"github.com/belay-hooks/belay/phases"
)

const probes = "testdata/probes"

func probeLock(t *testing.T) hookbuild.Lock {
	t.Helper()
	l, err := hookbuild.ReadLock([]byte(read(t, probes, hookbuild.LockFile)))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// The probes in AssemblyScript, C and Rust are committed, and belong to their sources and to the SDK as
// it is now. Build them with: go run ./internal/hookbuild/buildexamples -C hooks-sdk/abi/testdata/probes
func TestProbesAreCurrent(t *testing.T) {
	l := probeLock(t)
	drift, err := hookbuild.CheckLocked(probes, l)
	if err != nil || len(l.Modules) != 3 {
		t.Fatalf("%d modules, %v", len(l.Modules), err)
	}
	for _, d := range drift {
		t.Errorf("%s: %s", d.Name, d.Text)
	}
}

// probe builds the probe of a language here and now. Under the tools of the lock it has
// to be the committed module, to the byte.
func probe(t *testing.T, lang string) []byte {
	t.Helper()
	m := hookbuild.LockedModule{Name: lang, Language: lang}
	for _, l := range probeLock(t).Modules {
		if l.Name == lang {
			m = l
		}
	}
	if missing := hookbuild.Missing(lang); missing != "" {
		t.Fatalf("%s; scripts/setup installs it", missing)
	}
	module, _, err := hookbuild.Rebuild(t.Context(), probes, m, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return module
}

// state holds one hook's entries; every value is of version 1.
type state map[string]string

func (s state) Get(_ context.Context, key string) ([]byte, int64, error) {
	if v, ok := s[key]; ok {
		return []byte(v), 1, nil
	}
	return nil, 0, nil
}

func (s state) Usage(context.Context) (keys, bytes int, err error) {
	for k, v := range s {
		keys, bytes = keys+1, bytes+len(k)+len(v)
	}
	return keys, bytes, nil
}

func turn(t *testing.T, m *sandbox.Module, p phases.Phase, action, config string) (*hostcalls.Session, error) {
	t.Helper()
	var granted []string
	for _, c := range m.Info().Capabilities {
		granted = append(granted, c)
	}
	grants, err := hostcalls.ParseGrants(granted)
	if err != nil {
		t.Fatal(err)
	}
	s, err := hostcalls.NewSession(hostcalls.SessionConfig{
		Phase: p, Pass: phases.PassMutate, Action: jsontext.Value(action), Config: jsontext.Value(config),
		Input:   jsontext.Value(strings.TrimSuffix(action, "}") + `,"phase":"` + string(p) + `"}`),
		Actor:   phases.Actor{Hook: "probe", Tier: phases.Sandboxed, Mutator: p == phases.PreTool},
		Granted: grants, Time: time.Unix(1_700_000_000, 7), Seed: [32]byte{1}, State: state{"probe": "before é"},
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = m.Run(t.Context(), sandbox.RunRequest{Phase: p, Session: s})
	return s, err
}

const (
	probeAction = `{"tool":"exec","args":{"s":"é\n\"\\\u0000😀\/\t\u001b","long":"LONG","n":-42,"b":true,"z":null,"a":[1,2.50, {"x":1}],` +
		`"o":{"a/b":"slash","~":1,"\u00e9":[]},"command":"sudo rm -rf \"$HOME\" | tee 'a b'","secret":"ghp_R4nd0mT0k3nF0rT3st1ngPurp0s3sXy9Za1B"}}`
	probeConfig = `{"n":3,"on":true,"t":"text"}`
	probeReport = `{"text":"é\n\"\\\u0000😀/\t\u001b","long":5000,"absent":1,"not_text":1,"kinds":[2,1,0,4,5,3],"keys":["a/b","~","é"],` +
		`"len":3,"int":-42,"fraction":-1,"pointer":"slash","raw":"[1,2.50, {\"x\":1}]","config":3,"config_default":7,"config_bool":1,` +
		`"config_text":"text","shell":["sudo","rm","tee"],"word":"a b","shell_ok":1,"match":3,"secret":"github-token","path":"/w/x",` +
		`"state":"before é","put":0,"state_after":"seen","time":1700000000000000007,"random":RANDOM}`
)

// Each SDK, in the real sandbox: what a hook reads through it is what the host
// has, and what it asks for arrives as it was meant. They agree to the byte.
func TestProbes(t *testing.T) {
	e, err := sandbox.Open(sandbox.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}()
	// The construction of the stream is part of the ABI: SHA-256(seed ‖ block number).
	block := sha256.Sum256(append([]byte{1}, make([]byte, 31+8)...))
	random := strconv.Itoa(int(block[0])<<16 | int(block[1])<<8 | int(block[2]))
	wantReport := strings.Replace(probeReport, "RANDOM", random, 1)
	action := strings.Replace(probeAction, "LONG", strings.Repeat("x", 5000), 1)
	for _, lang := range []string{"assemblyscript", "c", "rust", "go"} {
		t.Run(lang, func(t *testing.T) {
			file := probe(t, lang)
			info, err := e.Inspect(file)
			if err != nil {
				t.Fatal(err)
			}
			m, err := e.Load(t.Context(), file,
				sandbox.LoadOptions{Class: sandbox.Installed, MemoryCap: 64 << 20, Declared: &sandbox.Declared{
					Capabilities: info.Capabilities, Phases: info.Phases, Mutates: []phases.Phase{phases.PreTool},
				}})
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()

			s, err := turn(t, m, phases.PreTool, action, probeConfig)
			if err != nil {
				t.Fatalf("%v; it says %q", err, s.FailText())
			}
			effects := s.Effects()
			if len(effects) != 8 {
				t.Fatalf("%+v", effects)
			}
			report := reportOf(t, effects[0])
			if diff := cmp.Diff(strings.SplitAfter(wantReport, ","), strings.SplitAfter(report, ",")); diff != "" {
				t.Errorf("report (-want +got):\n%s", diff)
			}
			want := []phases.Effect{
				{Kind: phases.EffectRewrite, Path: "/args/n", Value: jsontext.Value(`[1,2]`)},
				{Kind: phases.EffectRewrite, Path: "/args/z", Remove: true},
				{Kind: phases.EffectRedact, Path: "/args/b", Label: "flag"},
				{Kind: phases.EffectAnnotate, Key: "k", Value: jsontext.Value(`"v\n"`)},
				{Kind: phases.EffectContext, Text: "context"},
				{Kind: phases.EffectClamp, Scopes: &phases.Scopes{FSRead: phases.Scope{"/w/**"}, Net: phases.Scope{}}},
				{Kind: phases.EffectAsk, Text: `why "now"?`, Value: jsontext.Value(`{"reason":"why \"now\"?","ttl_s":60}`)},
			}
			if diff := cmp.Diff(want, effects[1:]); diff != "" {
				t.Errorf("effects (-want +got):\n%s", diff)
			}
			if w := s.StateWrites(); len(w) != 1 || w[0].Key != "probe" || string(w[0].Value) != "seen" {
				t.Errorf("state: %+v", w)
			}
			if l := s.Logs(); len(l) != 1 || l[0].Text != "probe" || l[0].Level != 1 {
				t.Errorf("log: %+v", l)
			}
			otherPhases(t, m)
		})
	}
}

func otherPhases(t *testing.T, m *sandbox.Module) {
	t.Helper()
	for _, c := range []struct {
		phase  phases.Phase
		action string
		want   []phases.Effect
	}{
		{phases.PostReceive, `{"kind":"final","text":"x"}`, []phases.Effect{
			{Kind: phases.EffectRetry, Value: jsontext.Value(`{"instruction":"again","max":2}`)},
			{Kind: phases.EffectArtifact,
				Value: jsontext.Value(`{"name":"a.txt","media_type":"text/plain","text":"one\ttwo\u0001"}`)},
		}},
		{phases.PrePlan, `{"kind":"message","text":"x"}`, []phases.Effect{
			{Kind: phases.EffectReply, Value: jsontext.Value(`{"text":"no model needed"}`)},
		}},
	} {
		s, err := turn(t, m, c.phase, c.action, "null")
		if err != nil {
			t.Errorf("%s: %v", c.phase, err)
		}
		if diff := cmp.Diff(c.want, s.Effects(), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.phase, diff)
		}
	}
	s, err := turn(t, m, phases.Spawn, `{"child":{"agent":"a"}}`, "null")
	if f := phases.FaultOf(err); f == nil || f.Kind != phases.KindOutput || s.FailText() != "on purpose" {
		t.Errorf("a failure arrived as %v, text %q", err, s.FailText())
	}
}

// reportOf returns the text of the report.
func reportOf(t *testing.T, e phases.Effect) string {
	t.Helper()
	if e.Kind != phases.EffectRewrite || e.Path != "/args/report" {
		t.Fatalf("%+v", e)
	}
	text, err := jsontext.AppendUnquote(nil, e.Value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
