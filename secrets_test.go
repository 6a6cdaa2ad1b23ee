package belay_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/pem"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// secrets are made anew for each run, in the forms that the detector knows.
type secrets struct {
	needles map[string]string // the secrets that must not be found, by kind
	text    string            // all of them, as they stand in files and outputs
}

func someChars(t *testing.T, n int, from string) string {
	t.Helper()
	b := make([]byte, n)
	if _, err := rand.Read(b); err != nil {
		t.Fatal(err)
	}
	for i := range b {
		b[i] = from[int(b[i])%len(from)]
	}
	return string(b)
}

func newSecrets(t *testing.T) secrets {
	t.Helper()
	const alnum = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	block := string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	id, secret := "AKIA"+someChars(t, 16, alnum[:26]+"234567"), someChars(t, 40, alnum+"+/")
	token, inner := "ghp_"+someChars(t, 36, alnum), "ghp_"+someChars(t, 36, alnum)
	wrapped := base64.StdEncoding.EncodeToString([]byte("GITHUB_TOKEN=" + inner + "\n"))
	s := secrets{needles: map[string]string{
		"AWS key id": id, "AWS secret": secret, "GitHub token": token, "token inside base64": inner,
		"base64 around the token": wrapped[20:52],
	}}
	for i, line := range strings.Split(block, "\n") {
		if len(line) > 30 && !strings.HasPrefix(line, "-") {
			s.needles["PEM line "+string(rune('0'+i))] = line
		}
	}
	s.text = "export AWS_ACCESS_KEY_ID=" + id + "\nexport AWS_SECRET_ACCESS_KEY=" + secret + "\n" + token + "\n" + block +
		wrapped + "\n"
	return s
}

// forms returns the ways in which a needle could lie on the disk.
func forms(needle string) map[string]string {
	quoted, _ := json.Marshal(needle)
	escaped := strings.Trim(string(quoted), `"`)
	uni := ""
	for _, b := range []byte(needle) {
		uni += `\u00` + hex.EncodeToString([]byte{b})
	}
	out := map[string]string{
		"plain": needle, "JSON": escaped, "JSON with \\/": strings.ReplaceAll(escaped, "/", `\/`), "\\u": uni,
		"hex": hex.EncodeToString([]byte(needle)), "HEX": strings.ToUpper(hex.EncodeToString([]byte(needle))),
	}
	for name, enc := range map[string]*base64.Encoding{"base64": base64.StdEncoding, "base64url": base64.URLEncoding} {
		for shift := range 3 { // what lies before it moves the bits
			text := enc.EncodeToString([]byte("xxx"[:shift] + needle))
			out[name+string(rune('0'+shift))] = text[4 : len(text)-4]
		}
	}
	return out
}

// found searches every byte of every file below dir and returns the secrets that it finds.
func (s *secrets) found(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	files := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files++
		for what, needle := range s.needles {
			for form, text := range forms(needle) {
				if bytes.Contains(b, []byte(text)) {
					out = append(out, what+" ("+form+") in "+filepath.Base(path))
				}
			}
		}
		return nil
	})
	if err != nil || files < 5 {
		t.Fatalf("%d files read: %v", files, err)
	}
	return out
}

// spoken is one hostcall with constant arguments; a single NUL byte stands for the number 1.
type spoken struct {
	name string
	args []string
}

// babbler is a module without a manifest that makes the calls and ends with a status.
func babbler(status int, calls ...spoken) []byte {
	const mask = 0x15
	u := func(n int) []byte { return binary.AppendUvarint(nil, uint64(n)) }
	vec := func(items ...[]byte) []byte { return append(u(len(items)), bytes.Join(items, nil)...) }
	name := func(s string) []byte { return append(u(len(s)), s...) }
	section := func(id byte, body []byte) []byte { return append(append([]byte{id}, u(len(body))...), body...) }
	konst := func(n int) []byte { // i32.const, signed LEB128
		out := []byte{0x41}
		for ; n > 63; n >>= 7 {
			out = append(out, byte(n&0x7f)|0x80)
		}
		return append(out, byte(n))
	}
	var types, imports [][]byte
	var data, code []byte
	for i, c := range calls {
		n := 0
		for _, arg := range c.args {
			if arg == "\x00" {
				code, n = append(code, konst(1)...), n+1
				continue
			}
			code = append(append(code, konst(len(data))...), konst(len(arg))...)
			data, n = append(data, arg...), n+2
		}
		code = append(append(append(code, 0x10), u(i)...), 0x1a) // call, drop
		types = append(types, append(append(append([]byte{0x60}, u(n)...), bytes.Repeat([]byte{0x7f}, n)...), 1, 0x7f))
		imports = append(imports, append(append(name("belay_v1"), name(c.name)...), append([]byte{0}, u(i)...)...))
	}
	turn := append(types, []byte{0x60, 0, 1, 0x7f})
	// Its file, of which the sandbox keeps a form, holds what it says under a mask, which it takes off first.
	masked := slices.Clone(data)
	for i := range masked {
		masked[i] ^= mask
	}
	unmask := slices.Concat([]byte{0x03, 0x40, 0x20, 0, 0x20, 0, 0x2d, 0, 0}, konst(mask), // loop: i, load8_u(i), mask
		[]byte{0x73, 0x3a, 0, 0, 0x20, 0, 0x41, 1, 0x6a, 0x22, 0}, konst(len(data)), // xor, store8, i+1
		[]byte{0x49, 0x0d, 0, 0x0b}) // while below the length
	body := slices.Concat([]byte{1, 1, 0x7f}, unmask, code, konst(status))
	body = append(body, 0x0b)
	export := func(n string, kind byte, i int) []byte { return append(append(name(n), kind), u(i)...) }
	return bytes.Join([][]byte{
		[]byte("\x00asm\x01\x00\x00\x00"),
		section(1, vec(turn...)), section(2, vec(imports...)), section(3, vec(u(len(calls)))), section(5, []byte{1, 0, 1}),
		section(7, vec(export("memory", 2, 0), export("pre_tool", 0, len(calls)), export("post_tool", 0, len(calls)))),
		section(10, vec(append(u(len(body)), body...))),
		section(11, vec(append(append([]byte{0, 0x41, 0, 0x0b}, u(len(masked))...), masked...))),
	}, nil)
}

// An action with an AWS key, a GitHub token, a PEM block and a token inside base64
// leaves none of them in the state directory, wherever they came from: arguments,
// results, messages, metadata, and the words of a hook about them; nor in a sink,
// nor in the notes taken while the store is down, nor in payloads that do not decode.
func TestNoSecretOnDisk(t *testing.T) {
	s := newSecrets(t)
	quoted, err := json.Marshal(s.text)
	if err != nil {
		t.Fatal(err)
	}
	text := string(quoted)
	dir := t.TempDir()
	write(t, filepath.Join(dir, "belay.yaml"), guarded+"events:\n  sinks:\n    - jsonl: {path: "+dir+
		"/out/events.jsonl}\n    - checkpoint: {path: "+dir+"/out/marks}\n")
	if err := os.Mkdir(filepath.Join(dir, "out"), 0o700); err != nil {
		t.Fatal(err)
	}
	wire := []string{
		`{"phase":"pre_tool","runtime":"custom","session":"s","run":"r","action":{"tool":"exec","call_id":"c","args":{"command":` + text + `}}}`,
		`{"phase":"pre_tool","runtime":"custom","session":"s","run":"r","action":{"tool":"write","call_id":"c","args":{"path":"/home/dev/x","content":` + text + `,"deep":[{"er":[` + text + `]}]}}}`,
		`{"phase":"pre_tool","runtime":"custom","session":"s","run":"r","metadata":{"note":` + text +
			`},"action":{"tool":"exec","call_id":"c","args":{"command":"ls"}}}`,
		`{"phase":"post_tool","runtime":"custom","session":"s","run":"r","action":{"tool":"exec","call_id":"c","args":{"command":"env"},"result":` + text + `}}`,
		`{"phase":"post_tool","runtime":"custom","session":"s","run":"r","action":{"tool":"exec","call_id":"c","result":{"stdout":` + text + `}}}`,
	}
	piece, token := s.needles["PEM line 2"], s.needles["GitHub token"]
	wire = append(wire, `{"phase":"pre_tool","runtime":"custom","session":"s","run":"r","metadata":{"`+token+`":1,"note":`+
		text+`},"action":{"tool":"exec","call_id":"c","args":{"command":"ls","`+token+`":"x"}}}`)
	var host *belay.Belay
	for name, c := range map[string]struct {
		module []byte
		want   phases.HookDecision
	}{
		"notes": {babbler(0, spoken{"log", []string{"\x00", s.text}}, spoken{"annotate", []string{"note", text}},
			spoken{"state_put", []string{"note", s.text}}), phases.HookTransform},
		"artifacts": {babbler(0,
			spoken{"put_artifact", []string{`{"name":"a","media_type":"text/plain","text":` + text + `}`}}),
			phases.HookTransform},
		"context": {babbler(0, spoken{"add_context", []string{s.text}}), phases.HookTransform},
		"blocks": {babbler(0, spoken{"log", []string{"\x00", s.text}}, spoken{"block", []string{s.text}}),
			phases.HookBlock},
		"asks": {babbler(0,
			spoken{"request_approval", []string{`{"reason":` + text + `,"details":{"all":` + text + `}}`}}), phases.HookAsk},
		// Where a secret is the name of something.
		"names metadata": {babbler(0, spoken{"annotate", []string{token, "1"}}), phases.HookError},
		"names state":    {babbler(0, spoken{"state_put", []string{"a " + token, "x"}}), phases.HookError},
		"names a piece": {babbler(0, spoken{"state_put", []string{"", "x"}}, spoken{"state_put", []string{piece, "x"}}),
			phases.HookError},
		"names a file": {babbler(0,
			spoken{"put_artifact", []string{`{"name":"` + token + `","media_type":"text/plain","text":"x"}`}}),
			phases.HookTransform},
		"names a detail": {babbler(0, spoken{"request_approval", []string{`{"reason":"why","details":{"` + token + `":1}}`}}),
			phases.HookAsk},
		"names a member": {babbler(0, spoken{"rewrite", []string{"/args/" + token, "y", "\x00"}}), phases.HookTransform},
		"fails":          {babbler(1, spoken{"fail", []string{s.text}}), phases.HookError},
		// A line of a key says nothing of itself: that it is secret is known from the action.
		"quotes": {babbler(0, spoken{"log", []string{"\x00", piece}}, spoken{"state_put", []string{"piece", piece}},
			spoken{"add_context", []string{piece}},
			spoken{"annotate", []string{"piece", `"` + piece + `"`}},
			spoken{"request_approval", []string{`{"reason":"what is ` + piece + `?"}`}}), phases.HookAsk},
	} {
		host = open(t, dir, belay.Options{Hooks: []belay.AdHocHook{{Name: "babbler", Module: c.module}}})
		as := 0
		for _, w := range wire {
			inv, err := phases.DecodeInvocation([]byte(w))
			if err != nil {
				t.Fatalf("%v: %s", err, w)
			}
			for range 2 {
				v, _ := host.Invoke(t.Context(), inv)
				if v.Event == nil {
					t.Fatalf("%s: %+v", name, v)
				}
				for _, h := range v.Hooks {
					if h.Hook == "babbler" && h.Decision == c.want {
						as++
					}
				}
			}
		}
		if as < 4 { // or there was nothing to find
			t.Errorf("%s: %d turns came out as %s", name, as, c.want)
		}
	}
	for _, raw := range []string{wire[0][:len(wire[0])-5], s.text, `{"tokens":` + text} {
		if _, err := host.Refuse(t.Context(),
			kernel.Refusal{Raw: []byte(raw), Invocation: phases.Invocation{Session: "s", User: "dev"}}); err == nil {
			t.Error("no error beside a refusal")
		}
	}
	// While a durable sink is away, everything is blocked and noted in the spool.
	if err := os.Rename(filepath.Join(dir, "out"), filepath.Join(dir, "away")); err != nil {
		t.Fatal(err)
	}
	inv, _ := phases.DecodeInvocation([]byte(wire[0]))
	for range 3 {
		if v, _ := host.Invoke(t.Context(), inv); v.Kind != phases.KindStore {
			t.Errorf("%+v", v)
		}
	}
	if b := content(t, filepath.Join(dir, "spool.jsonl")); b == "" {
		t.Error("nothing in the spool")
	}
	for _, f := range s.found(t, dir) { // the log of the database and the spool are still there
		t.Error("while it runs: " + f)
	}
	if err := os.Rename(filepath.Join(dir, "away"), filepath.Join(dir, "out")); err != nil {
		t.Fatal(err)
	}
	_, _ = host.Invoke(t.Context(), inv)
	if err := host.Close(); err != nil {
		t.Fatal(err)
	}
	for _, f := range s.found(t, dir) {
		t.Error("afterwards: " + f)
	}
	unpacked(t, dir)
	for _, f := range s.found(t, dir) {
		t.Error("in the events: " + f)
	}
	// The search finds a secret that is there; the events hold only placeholders.
	kinds := content(t, filepath.Join(dir, "out/events.jsonl"))
	for _, kind := range []string{"[redacted:aws-", "[redacted:github-token:", "[redacted:private-key:"} {
		if !strings.Contains(kinds, kind) {
			t.Errorf("no %s in the events", kind)
		}
	}
	write(t, filepath.Join(dir, "left.txt"), base64.StdEncoding.EncodeToString([]byte("a"+s.needles["GitHub token"])))
	if got := s.found(t, dir); len(got) == 0 {
		t.Error("the search finds nothing")
	}
}
