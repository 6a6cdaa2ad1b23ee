package phases

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// What is told of a call without reading its arguments to the end is what judge tells of it.
func TestPlainCallsAreJudgedAsOthers(t *testing.T) {
	plain, others := 0, 0
	names := []string{"command", "cmd", "Command", "commands", "script", "code", "shell", "bash", "command_line",
		"Bash-Command", "shell.command", "description", "timeout", "run_in_background", "c\\u006fmmand", "\u212aommand",
		"cwd", "commandcommandcommandcommandcommand", "", "a b"}
	harmless := []string{"description", "timeout", "cwd", "run_in_background", "a b"}
	values := []string{`"ls"`, `"id"`, `"ls"`, `5`, `""`, `" "`, `"\n"`, `"\u0020x"`, `5`, `true`, `null`, `["ls","-l"]`,
		`[]`, `{}`, `{"command":"ls"}`, `"/bin/bash"`, `"ls -l"`}
	some := slices.Concat(names, slices.Repeat(harmless, 3))
	random := rand.New(rand.NewPCG(1, 2))
	of := func(list []string) string { return list[random.IntN(len(list))] }
	for range 3000 {
		seen := []string{of([]string{"command", "command", "cmd", "x"})}
		for range random.IntN(3) {
			if name := of(some); !slices.Contains(seen, name) {
				seen = append(seen, name)
			}
		}
		var members []string
		for _, name := range seen {
			members = append(members, `"`+name+`" : `+of(values))
		}
		inv := Invocation{Phase: PreTool, Runtime: of([]string{"claude-code", "codex", "custom"}),
			Action: jsontext.Value(`{"tool":"exec","args":{ ` + strings.Join(members, " , ") + ` }` +
				of([]string{"", `,"native_tool":"PowerShell"`, `,"native_tool":"js_repl"`}) + `}`)}
		j := inv.judge("exec")
		if !inv.plainExec("exec") {
			others++
			continue
		}
		plain++
		if j.document() != nil || len(j.as) > 0 {
			t.Fatalf("%s is plain, and judged as %s %v", inv.Action, j.document(), j.as)
		}
	}
	if plain < 100 || others < 100 {
		t.Errorf("%d plain calls and %d others", plain, others)
	}
	usual := Invocation{Phase: PreTool, Runtime: "claude-code",
		Action: jsontext.Value(`{"tool":"exec","args":{"command":"ls","description":"x","timeout":5}}`)}
	if !usual.plainExec("exec") || usual.plainExec("read") {
		t.Error("the usual call is not plain, or one of another tool is")
	}
}

// A digest is the same in memory that is used again, whatever was written there before, and nothing of it lies there.
func TestDigestsInBuffersThatAreUsedAgain(t *testing.T) {
	var buffers Buffers
	for _, action := range []string{
		`{"tool":"exec","args":{"z":1,"a":[1.0,{"b":"\u0041","a":"\n"}]},"call_id":"c"}`, `{}`, `{"b":"` + strings.Repeat("x", 5000) +
			`","a":1}`, `{"b":1,"a":{"d":1,"c":2}}`, `{"a":1e99999999999999999999}`, `{"duration_ms":1e99999999999999999999}`,
		`{"a":2}`,
	} {
		want, wantErr := ActionDigest(Invocation{Phase: PreTool, Action: jsontext.Value(action)})
		for range 3 {
			w := buffers.get()
			for _, memory := range [][]byte{w.out[:cap(w.out)], w.spare[:cap(w.spare)]} {
				for i := range memory {
					memory[i] = '!' // poison
				}
			}
			buffers.put(w)
			got, err := buffers.digestStrict(PreTool, jsontext.Value(action), Checked{})
			if strings.Contains(action, "duration_ms") { // a member that is left out is refused by it all the same
				if err == nil || got != "" {
					t.Errorf("%s has the digest %s", action, got)
				}
				continue
			}
			if got != want || (err == nil) != (wantErr == nil) {
				t.Errorf("%.60s: %s, %v, want %s, %v", action, got, err, want, wantErr)
			}
		}
	}
	if w := buffers.get(); w.src != nil {
		t.Error("a buffer that is lent refers to the document before")
	}
	large := jsontext.Value(`{"a":"` + strings.Repeat("x", maxIdle) + `"}`)
	if _, err := buffers.digestStrict(PreTool, large, Checked{}); err != nil {
		t.Fatal(err)
	}
	for range 10 {
		if w := buffers.get(); cap(w.out) > maxIdle {
			t.Fatal("a buffer beyond the limit is kept")
		}
	}
}

// Scopes that are made in one piece do not reach into each other.
func TestScopesOfOnePieceAreApart(t *testing.T) {
	for _, s := range []Scopes{Scopes{}.Intersect(Scopes{}),
		Scopes{FSRead: Scope{"/a"}, FSWrite: Scope{}, Net: Scope{"*"}, Tools: nil}.Clone()} {
		want := s.Normalize()
		for _, one := range []*Scope{&s.FSRead, &s.FSWrite, &s.Net} {
			_ = append(*one, "other")
		}
		if !slices.Equal(want.FSWrite, s.FSWrite.Normalize(ScopePath)) ||
			!slices.Equal(want.Net, s.Net.Normalize(ScopeNet)) ||
			!slices.Equal(want.Tools, s.Tools.Normalize(ScopeTool)) {
			t.Errorf("%v, want %v", s, want)
		}
	}
	if got := (Scopes{FSWrite: Scope{}}).Clone(); got.FSWrite == nil || got.FSRead != nil {
		t.Errorf("an empty scope is %#v in the copy", got)
	}
}

func TestStringLen(t *testing.T) {
	for in, want := range map[string]bool{`"a"`: true, `""`: true, `"a\"b\\" , 5`: true, `"\/"`: false, `"\u0041"`: false,
		`"\n\t\r\b\f"`: true, `"äöü✓ and more of it, longer than a word"`: true, `"ä\u00e4"x`: false, `"\\"]`: true} {
		end, _ := skipString([]byte(in), 0)
		if n, shortest := StringLen([]byte(in)); n != end || shortest != want {
			t.Errorf("%s: %d, %t, want %d, %t", in, n, shortest, end, want)
		}
	}
}

// A document that is known to be compact is written without looking for what is not: the canonical form is the same.
func TestCompactDocuments(t *testing.T) {
	for in, want := range map[string]bool{
		`{"a":["\n\t\"\\",1.50,-0,1e3,true,null,{}],"b":"ä✓"}`: true, `{}`: true, `[]`: true, `"x"`: true, ` {}`: false,
		`{} `: false, `{"a" :1}`: false, `{"a": 1}`: false, `{ "a":1}`: false, `{"a":1 }`: false, `[1 ]`: false,
		`[ 1]`:   false,
		`[1, 2]`: false, `{"a":1, "b":2}`: false, "{\n}": false, `[ ]`: false, `"\/"`: false, `"\u0041"`: false,
		`["\ud83d\ude00"]`: false, `{"a":"\u001f"}`: false, `{"\n":1}`: false, `[1,]`: false,
	} {
		right, compact := formOf([]byte(in), 10)
		if compact != want || compact && !right {
			t.Errorf("%s is compact: %t", in, compact)
		}
		if !compact {
			continue
		}
		slow, err := Canonical(jsontext.Value(in))
		fast := canonicalWriter{compact: true}
		if err := errors.Join(err, fast.write([]byte(in))); err != nil || string(fast.out) != string(slow) {
			t.Errorf("%s: %s, %s, %v", in, fast.out, slow, err)
		}
	}
	inv := Invocation{Phase: PreTool, Runtime: "r", Action: jsontext.Value(`{"tool":"exec","args":{"command":"ls"}}`)}
	known, err := inv.Check()
	if err != nil || !known.Compact(inv.Action) || known.Compact(inv.Action.Clone()) || (Checked{}).Compact(inv.Action) {
		t.Error("what is known holds of another document, or not of its own")
	}
}
