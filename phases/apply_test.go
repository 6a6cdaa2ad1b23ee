package phases

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// almighty is a trusted mutator that was granted everything by name.
func almighty() Actor {
	rewrite, grants := GrantsOf([]string{
		"block", "request_approval", "rewrite", "rewrite:/model", "redact", "clamp_scopes", "annotate",
		"add_context", "retry", "reply", "put_artifact", "grant",
	})
	return Actor{Hook: "almighty", Digest: "sha256:aa", ConfigDigest: "sha256:bb", Tier: Trusted, Mode: Enforce,
		Mutator: true, Rewrite: rewrite, Grants: grants}
}

// effectsOf returns one well-formed effect of each kind, for a phase.
func effectsOf(p Phase) []Effect {
	rules := RulesFor(p)
	rewrite, redact := "/none", "/none"
	value := jsontext.Value(`"x"`)
	if len(rules.Rewrite) > 0 {
		rewrite = rules.Rewrite[0].Pointer
		switch p {
		case PreTool, StateTransition:
			value = jsontext.Value(`{"command":"x"}`)
		}
	}
	if len(rules.Redact) > 0 {
		redact = rules.Redact[0]
	}
	return []Effect{
		{Kind: EffectBlock, Text: "no"},
		{Kind: EffectAsk, Text: "sure?", Value: jsontext.Value(`{"reason":"sure?"}`)},
		{Kind: EffectRewrite, Path: rewrite, Value: value},
		{Kind: EffectRedact, Path: redact, Label: "key"},
		{Kind: EffectClamp, Scopes: &Scopes{FSRead: Scope{"/a/**"}}},
		{Kind: EffectAnnotate, Key: "k", Value: jsontext.Value(`1`)},
		{Kind: EffectContext, Text: "mind the gap"},
		{Kind: EffectRetry, Value: jsontext.Value(`{"instruction":"again","max":2}`)},
		{Kind: EffectReply, Value: jsontext.Value(`{"text":"hello"}`)},
		{Kind: EffectArtifact, Value: jsontext.Value(`{"name":"a.txt","media_type":"text/plain","text":"x"}`)},
		{Kind: EffectGrant, Text: "known good"},
	}
}

func passOf(p Phase) Pass {
	if p == Audit {
		return PassAudit
	}
	return PassMutate
}

// The table of phases and effects, written out by hand.
func TestLegality(t *testing.T) {
	want := map[Phase]string{
		PrePlan:         "block request_approval rewrite redact annotate add_context reply put_artifact",
		PreSend:         "block request_approval rewrite redact annotate add_context reply",
		PostReceive:     "block rewrite redact annotate add_context retry put_artifact",
		PreTool:         "block request_approval rewrite redact clamp_scopes annotate add_context grant",
		PostTool:        "block rewrite redact annotate add_context put_artifact",
		StateTransition: "block request_approval rewrite redact clamp_scopes annotate add_context put_artifact",
		Spawn:           "block request_approval rewrite redact clamp_scopes annotate add_context",
		Audit:           "redact",
	}
	for _, p := range Phases() {
		var legal []string
		for _, e := range effectsOf(p) {
			action := jsontext.Value(sampleActions()[p])
			_, err := ApplyEffect(p, passOf(p), action, almighty(), e)
			switch {
			case err == nil:
				legal = append(legal, e.Kind.Capability())
			case !errors.Is(err, ErrDenied):
				t.Errorf("%s: %v", p, err)
			}
			if RulesFor(p).Legal(e.Kind) != (err == nil) {
				t.Errorf("%s %s: the table and the check differ: %v", p, e.Kind, err)
			}
			// Nothing is granted by default, and nothing is legal nowhere.
			nobody := Actor{Hook: "nobody", Tier: Trusted, Mutator: true}
			if _, err := ApplyEffect(p, passOf(p), action, nobody, e); !errors.Is(err, ErrDenied) && e.Kind != EffectBlock {
				t.Errorf("%s %s without a grant: %v", p, e.Kind, err)
			}
			if _, err := ApplyEffect("nope", PassMutate, action, almighty(), e); !errors.Is(err, ErrDenied) {
				t.Errorf("%s in an unknown phase: %v", e.Kind, err)
			}
		}
		if got := strings.Join(legal, " "); got != want[p] {
			t.Errorf("%s:\n got %s\nwant %s", p, got, want[p])
		}
	}
}

// Only what the table of the design names can be rewritten, by any hook.
func TestRewritablePlaces(t *testing.T) {
	want := map[Phase][]string{
		PrePlan:         {"/constraints", "/stage", "/text"},
		PreSend:         {"/headers", "/messages", "/model", "/params", "/system", "/tools"},
		PostReceive:     {"/messages", "/text"},
		PreTool:         {"/args"},
		PostTool:        {"/result"},
		StateTransition: {"/data"},
		Spawn:           {"/child/prompt", "/child/tools"},
	}
	for _, p := range Phases() {
		raw := jsontext.Value(sampleActions()[p])
		doc := parse(t, raw)
		for _, ptr := range pointers(doc, "", nil) {
			permitted := slices.ContainsFunc(want[p], func(w string) bool { return Covers(w, ptr) })
			for _, remove := range []bool{false, true} {
				e := Effect{Kind: EffectRewrite, Path: ptr, Remove: remove}
				if !remove {
					e.Value, _ = Get(raw, ptr)
				}
				if ptr == "/headers" && !remove {
					e.Value = jsontext.Value(`{"x":"1"}`) // its own has a credential
				}
				_, err := ApplyEffect(p, passOf(p), raw, almighty(), e)
				if permitted == errors.Is(err, ErrDenied) && !isCredentialHeader(ptr[strings.LastIndex(ptr, "/")+1:]) {
					t.Errorf("%s %q (remove %v): %v", p, ptr, remove, err)
				}
				if !permitted && !errors.Is(err, ErrDenied) {
					t.Errorf("%s %q (remove %v) is fixed: %v", p, ptr, remove, err)
				}
			}
		}
	}
}

func TestApplyEffectRefuses(t *testing.T) {
	with := func(f func(*Actor)) Actor { a := almighty(); f(&a); return a }
	validator := with(func(a *Actor) { a.Mutator = false })
	sandboxed := with(func(a *Actor) { a.Tier = Sandboxed })
	narrow := with(func(a *Actor) { a.Rewrite = []string{"/args/command"} })
	plain := with(func(a *Actor) { a.Rewrite = []string{""} })
	set := func(ptr, value string) Effect {
		return Effect{Kind: EffectRewrite, Path: ptr, Value: jsontext.Value(value)}
	}
	drop := func(ptr string) Effect { return Effect{Kind: EffectRewrite, Path: ptr, Remove: true} }
	val := func(k EffectKind, v string) Effect { return Effect{Kind: k, Value: jsontext.Value(v)} }
	for name, c := range map[string]struct {
		phase Phase
		pass  Pass
		by    Actor
		e     Effect
		want  error
	}{
		"tool itself":        {PreTool, PassMutate, almighty(), set("/tool", `"read"`), ErrDenied},
		"whole action":       {PreTool, PassMutate, almighty(), set("", okAction), ErrDenied},
		"beside args":        {PreTool, PassMutate, almighty(), set("/argsx", `1`), ErrDenied},
		"granted elsewhere":  {PreTool, PassMutate, narrow, set("/args/n", `1`), ErrDenied},
		"above the grant":    {PreTool, PassMutate, narrow, set("/args", `{}`), ErrDenied},
		"beside the grant":   {PreTool, PassMutate, narrow, set("/args/commandx", `1`), ErrDenied},
		"within the grant":   {PreTool, PassMutate, narrow, set("/args/command", `"x"`), nil},
		"validator rewrites": {PreTool, PassValidate, validator, set("/args/command", `"ls -la"`), ErrDenied},
		"validator redacts":  {PreTool, PassValidate, validator, Effect{Kind: EffectRedact, Path: "/args"}, ErrDenied},
		"validator clamps": {PreTool, PassValidate, validator, Effect{Kind: EffectClamp, Scopes: &Scopes{}},
			ErrDenied},
		"validator in first pass":  {PreTool, PassMutate, validator, set("/args/command", `"x"`), ErrDenied},
		"mutator repeats itself":   {PreTool, PassValidate, almighty(), set("/args/command", `"ls -l\u0061"`), nil},
		"mutator changes its mind": {PreTool, PassValidate, almighty(), set("/args/command", `"ls"`), errUnstable},
		"mutator redacts again": {PreTool, PassValidate, almighty(), Effect{Kind: EffectRedact, Path: "/args/command"},
			errUnstable},
		"unknown pass":          {PreTool, "later", almighty(), set("/args/command", `1`), ErrDenied},
		"audit pass elsewhere":  {PreTool, PassAudit, almighty(), set("/args/command", `1`), ErrDenied},
		"mutate pass in audit":  {Audit, PassMutate, almighty(), Effect{Kind: EffectRedact, Path: "/data"}, ErrDenied},
		"audit outside of data": {Audit, PassAudit, almighty(), Effect{Kind: EffectRedact, Path: "/kind"}, ErrDenied},
		"args no object":        {PreTool, PassMutate, almighty(), set("/args", `[]`), errInvalid},
		"args removed":          {PreTool, PassMutate, almighty(), drop("/args"), errInvalid},
		"result removed":        {PostTool, PassMutate, almighty(), drop("/result"), errInvalid},
		"no parent":             {PreTool, PassMutate, almighty(), set("/args/a/b", `1`), errInvalid},
		"bad pointer":           {PreTool, PassMutate, almighty(), set("args", `1`), errInvalid},
		"bad escape":            {PreTool, PassMutate, almighty(), set("/args/~2", `1`), errInvalid},
		"no JSON":               {PreTool, PassMutate, almighty(), set("/args/x", `{"a":1}}`), errInvalid},
		"injected member":       {PreTool, PassMutate, almighty(), set("/args/x", `1},"tool":"read"`), errInvalid},
		"duplicate names":       {PreTool, PassMutate, almighty(), set("/args/x", `{"a":1,"a":2}`), errInvalid},
		"bad UTF-8":             {PreTool, PassMutate, almighty(), set("/args/x", "\"\xff\""), errInvalid},
		"no value":              {PreTool, PassMutate, almighty(), set("/args/x", ``), errInvalid},
		"remove with value": {PreTool, PassMutate, almighty(),
			Effect{Kind: EffectRewrite, Path: "/args/n", Value: jsontext.Value("1"), Remove: true}, errInvalid},
		"too deep": {PreTool, PassMutate, almighty(),
			set("/args/x", strings.Repeat("[", 127)+strings.Repeat("]", 127)), ErrTooLarge},
		"too large": {PreTool, PassMutate, almighty(),
			set("/args/x", `"`+strings.Repeat("x", maxEffectBytes)+`"`), ErrTooLarge},
		"model without its name": {PreSend, PassMutate, plain, set("/model", `"m-2"`), ErrDenied},
		"model by name":          {PreSend, PassMutate, almighty(), set("/model", `"m-2"`), nil},
		"provider":               {PreSend, PassMutate, almighty(), set("/provider", `"other"`), ErrDenied},
		"tool added": {PreSend, PassMutate, almighty(),
			set("/tools", `["read",{"name":"exec","x":1},"write"]`), errInvalid},
		"tool changed":        {PreSend, PassMutate, almighty(), set("/tools/1", `{"name":"exec","x":2}`), errInvalid},
		"tool changed inside": {PreSend, PassMutate, almighty(), set("/tools/1/x", `2`), errInvalid},
		"tools reordered": {PreSend, PassMutate, almighty(), set("/tools", `[{"name":"exec","x":1},"read"]`),
			errInvalid},
		"tools doubled":       {PreSend, PassMutate, almighty(), set("/tools", `["read","read"]`), errInvalid},
		"tools removed":       {PreSend, PassMutate, almighty(), drop("/tools"), errInvalid},
		"tool dropped":        {PreSend, PassMutate, almighty(), drop("/tools/0"), nil},
		"all tools dropped":   {PreSend, PassMutate, almighty(), set("/tools", `[]`), nil},
		"child gets a tool":   {Spawn, PassMutate, almighty(), set("/child/tools/3", `"web_fetch"`), errInvalid},
		"child loses tools":   {Spawn, PassMutate, almighty(), set("/child/tools", `["read","write"]`), nil},
		"child's agent":       {Spawn, PassMutate, almighty(), set("/child/agent", `"x"`), ErrDenied},
		"credential set":      {PreSend, PassMutate, almighty(), set("/headers/X-Api-Key", `"k"`), ErrDenied},
		"credential replaced": {PreSend, PassMutate, almighty(), set("/headers/Authorization", `"k"`), ErrDenied},
		"credential removed":  {PreSend, PassMutate, almighty(), drop("/headers/Authorization"), ErrDenied},
		"credential in all":   {PreSend, PassMutate, almighty(), set("/headers", `{"authorization":"k"}`), ErrDenied},
		"credential redacted": {PreSend, PassMutate, almighty(),
			Effect{Kind: EffectRedact, Path: "/headers/Authorization"}, ErrDenied},
		"header no string": {PreSend, PassMutate, almighty(), set("/headers/x", `1`), errInvalid},
		"redact nothing": {PreTool, PassMutate, almighty(), Effect{Kind: EffectRedact, Path: "/args/none"},
			errInvalid},
		"redact the tool": {PreTool, PassMutate, almighty(), Effect{Kind: EffectRedact, Path: "/tool"}, ErrDenied},
		"clamp nothing":   {PreTool, PassMutate, almighty(), Effect{Kind: EffectClamp}, errInvalid},
		"clamp bad pattern": {PreTool, PassMutate, almighty(),
			Effect{Kind: EffectClamp, Scopes: &Scopes{Net: Scope{"x"}}}, errInvalid},
		"ask no object": {PreTool, PassMutate, almighty(), val(EffectAsk, `[]`), errInvalid},
		"annotate bad key": {PreTool, PassMutate, almighty(),
			Effect{Kind: EffectAnnotate, Key: "a/b", Value: jsontext.Value("1")}, errInvalid},
		"annotate for the caller": {PreTool, PassMutate, almighty(),
			Effect{Kind: EffectAnnotate, Key: "caller", Value: jsontext.Value("1")}, ErrDenied},
		"annotate no JSON": {PreTool, PassMutate, almighty(),
			Effect{Kind: EffectAnnotate, Key: "a", Value: jsontext.Value("x")}, errInvalid},
		"empty context": {PreTool, PassMutate, almighty(), Effect{Kind: EffectContext, Text: "\u200b"},
			errInvalid},
		"grant by sandboxed":        {PreTool, PassMutate, sandboxed, Effect{Kind: EffectGrant}, ErrDenied},
		"retry without instruction": {PostReceive, PassMutate, almighty(), val(EffectRetry, `{"max":1}`), errInvalid},
		"retry too often": {PostReceive, PassMutate, almighty(), val(EffectRetry, `{"instruction":"x","max":11}`),
			errInvalid},
		"retry unknown member": {PostReceive, PassMutate, almighty(),
			val(EffectRetry, `{"instruction":"x","maximum":1}`), errInvalid},
		"reply empty": {PrePlan, PassMutate, almighty(), val(EffectReply, `{"text":""}`), errInvalid},
		"reply null":  {PrePlan, PassMutate, almighty(), val(EffectReply, `{"text":null}`), errInvalid},
		"artifact both": {PrePlan, PassMutate, almighty(),
			val(EffectArtifact, `{"name":"a","text":"x","data_base64":"eA=="}`), errInvalid},
		"artifact neither": {PrePlan, PassMutate, almighty(), val(EffectArtifact, `{"name":"a"}`), errInvalid},
		"artifact bad name": {PrePlan, PassMutate, almighty(), val(EffectArtifact, `{"name":"a\n","text":"x"}`),
			errInvalid},
		"artifact bad meta": {PrePlan, PassMutate, almighty(),
			val(EffectArtifact, `{"name":"a","text":"x","meta":[]}`), errInvalid},
		"unknown kind": {PreTool, PassMutate, almighty(), Effect{Kind: "erase"}, ErrDenied},
	} {
		t.Run(name, func(t *testing.T) {
			action := sampleActions()[c.phase]
			out, err := ApplyEffect(c.phase, c.pass, jsontext.Value(action), c.by, c.e)
			if c.want == nil {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			var e *effectProblem
			if !errors.Is(err, c.want) || !errors.As(err, &e) || out != nil {
				t.Fatalf("err = %v, want %v", err, c.want)
			}
			if c.want == errUnstable && (!errors.Is(err, ErrDenied) || e.Fault().Kind != KindProtocol) {
				t.Errorf("an unstable action: %v, %v", err, e.Fault())
			}
			if c.want != errUnstable && e.Fault().Kind != KindOutput {
				t.Errorf("fault = %v", e.Fault())
			}
		})
	}
}

func TestRewriteTouchesOnlyWhatItNames(t *testing.T) {
	action := sampleActions()[PreTool]
	got, err := ApplyEffect(PreTool, PassMutate, jsontext.Value(action), almighty(),
		Effect{Kind: EffectRewrite, Path: "/args/command", Value: jsontext.Value(` "ls" `)})
	if want := strings.Replace(action, `"ls -la"`, `"ls"`, 1); err != nil || string(got) != want {
		t.Errorf("got %s, %v\nwant %s", got, err, want)
	}
}

func TestCredentialsStay(t *testing.T) {
	action := jsontext.Value(`{"provider":"p","headers":{"Authorization":"Bearer k","a":"1","x-goog-api-key":"g"}}`)
	for name, c := range map[string]struct {
		e    Effect
		want string
	}{
		"replace all": {Effect{Kind: EffectRewrite, Path: "/headers", Value: jsontext.Value(`{"b":"2"}`)},
			`{"Authorization":"Bearer k","b":"2","x-goog-api-key":"g"}`},
		"remove all": {Effect{Kind: EffectRewrite, Path: "/headers", Remove: true},
			`{"Authorization":"Bearer k","x-goog-api-key":"g"}`},
		"redact all": {Effect{Kind: EffectRedact, Path: "/headers", Label: "h"},
			`{"Authorization":"Bearer k","a":"[redacted:h]","x-goog-api-key":"g"}`},
		"add one": {Effect{Kind: EffectRewrite, Path: "/headers/b", Value: jsontext.Value(`"2"`)},
			`{"Authorization":"Bearer k","a":"1","b":"2","x-goog-api-key":"g"}`},
	} {
		got, err := ApplyEffect(PreSend, PassMutate, action, almighty(), c.e)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if headers, _ := Get(got, "/headers"); !Same(headers, jsontext.Value(c.want)) {
			t.Errorf("%s: %s", name, headers)
		}
	}
	inv := Invocation{Phase: PreSend, Action: action}
	doc, err := Document(inv, nil)
	if err != nil || strings.Contains(string(doc), "Bearer") || strings.Contains(string(doc), `"g"`) ||
		!strings.Contains(string(doc), `"a":"1"`) {
		t.Errorf("the hook's document: %s, %v", doc, err)
	}
}

func TestIsCredentialHeader(t *testing.T) {
	for _, h := range append(slices.Clone(credentialHeaders), "Authorization", "X_API_KEY", "X-Goog-Api-Key",
		"x-custom-token",
		"My-Secret", "Cookie2", "cf-access-client-secret", "x-vault-token", "x-foo-auth", " authorization ") {
		if !isCredentialHeader(h) {
			t.Errorf("%q is shown to hooks", h)
		}
	}
	for _, h := range []string{"content-type", "user-agent", "anthropic-version", "anthropic-beta", "openai-organization",
		"x-request-id", "traceparent", "accept", "author", "x-stainless-lang"} {
		if isCredentialHeader(h) {
			t.Errorf("%q is hidden from hooks", h)
		}
	}
}

func TestRedact(t *testing.T) {
	for _, c := range []struct{ args, path, label, want string }{
		{`{"a":"x","b":"y"}`, "/args/a", "aws-key", `{"a":"[redacted:aws-key]","b":"y"}`},
		{`{"a":{"k":"x","n":1,"l":["y",null,{"z" : "w"}]}}`, "/args/a", "s",
			`{"a":{"k":"[redacted:s]","n":1,"l":["[redacted:s]",null,{"z" : "[redacted:s]"}]}}`},
		{`{"a":123}`, "/args/a", "pin", `{"a":"[redacted:pin]"}`},
		{`{"a":"x\"}:"}`, "/args", "", `{"a":"[redacted:value]"}`},
		{`{"a":"x"}`, "/args/a", "<b>\n]\u202e/AKIA 1", `{"a":"[redacted:b-AKIA-1]"}`},
		{`{"a":"x"}`, "/args/a", strings.Repeat("l", 200), `{"a":"[redacted:` + strings.Repeat("l", 64) + `]"}`},
	} {
		action := jsontext.Value(`{"tool":"exec","args":` + c.args + `}`)
		got, err := ApplyEffect(PreTool, PassMutate, action, almighty(),
			Effect{Kind: EffectRedact, Path: c.path, Label: c.label})
		if err != nil {
			t.Errorf("%s: %v", c.args, err)
			continue
		}
		if args, _ := Get(got, "/args"); string(args) != c.want {
			t.Errorf("redact %s in %s with %q:\n got %s\nwant %s", c.path, c.args, c.label, args, c.want)
		}
	}
}

func TestAnnotate(t *testing.T) {
	by := func(tier Tier) Actor { a := almighty(); a.Tier, a.Hook = tier, string(tier); return a }
	note := func(k, v string) Effect {
		return Effect{Kind: EffectAnnotate, Key: k, Value: jsontext.Value(v)}
	}
	md, err := annotate(nil, by(Trusted), note("a", " 1 "))
	if err != nil || string(md["a"].Value) != "1" || md["a"].Hook != "trusted" || md["a"].Tier != Trusted {
		t.Fatalf("%v, %v", md, err)
	}
	if _, err := annotate(md, by(Sandboxed), note("a", "2")); !errors.Is(err, ErrDenied) {
		t.Errorf("a lower tier overwrites a higher one: %v", err)
	}
	if _, err := annotate(md, by("nobody"), note("a", "2")); !errors.Is(err, ErrDenied) {
		t.Errorf("an unknown tier overwrites: %v", err)
	}
	if next, err := annotate(md, by(Trusted), note("a", "2")); err != nil || string(next["a"].Value) != "2" ||
		string(md["a"].Value) != "1" {
		t.Errorf("the same tier: %v, %v; before: %v", next, err, md)
	}
	if _, err := annotate(md, by(Trusted), note("b", `"`+strings.Repeat("x", maxMetadataBytes)+`"`)); !errors.Is(err,
		ErrTooLarge) {
		t.Errorf("too many bytes: %v", err)
	}
	for i := range maxMetadataKeys - 1 {
		if md, err = annotate(md, by(Trusted), note(fmt.Sprint("k", i), "1")); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := annotate(md, by(Trusted), note("more", "1")); !errors.Is(err, ErrTooLarge) {
		t.Errorf("too many keys: %v", err)
	}
	if err := md.Validate(); err != nil {
		t.Error(err)
	}
}

func TestGrantsOf(t *testing.T) {
	rewrite, grants := GrantsOf([]string{"block", "rewrite:/args", "rewrite:/args", "rewrite:", "http_request", "block:x",
		"add_context", "grants"})
	if len(rewrite) != 1 || rewrite[0] != "/args" {
		t.Errorf("rewrite = %q", rewrite)
	}
	if len(grants) != 2 || !grants[EffectBlock] || !grants[EffectContext] {
		t.Errorf("grants = %v", grants)
	}
	if rewrite, _ := GrantsOf([]string{"rewrite"}); len(rewrite) != 1 || rewrite[0] != "" {
		t.Errorf("plain rewrite = %q", rewrite)
	}
	if rewrite, _ := GrantsOf(nil); rewrite != nil {
		t.Errorf("nothing = %q", rewrite)
	}
}

// A hostile caller's many credential headers must not cost more than their size.
func TestManyCredentialHeaders(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"provider":"p","headers":{"a":"1"`)
	for i := range 40_000 {
		fmt.Fprintf(&b, `,"token-%d":"x"`, i)
	}
	b.WriteString(`}}`)
	inv := Invocation{Phase: PreSend, Action: jsontext.Value(b.String())}
	doc, err := Document(inv, nil)
	if err != nil || strings.Contains(string(doc), "token") {
		t.Fatalf("%d bytes, %v", len(doc), err)
	}
	out, err := ApplyEffect(PreSend, PassMutate, inv.Action, almighty(),
		Effect{Kind: EffectRewrite, Path: "/headers", Remove: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, hidden, _ := hideCredentials(PreSend, out); len(elementsOf(hidden)) != 40_000 {
		t.Errorf("%d credentials left", len(elementsOf(hidden)))
	}
}

func elementsOf(object jsontext.Value) []string {
	var names []string
	walk(object, 0, func(m member) bool { names = append(names, string(object[m.name.start:m.name.end])); return true })
	return names
}
