package belay_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/phases"
)

// traces returns where v, or an encoding of it, lies below dir.
func traces(t *testing.T, dir, v string) (out []string) {
	t.Helper()
	b64 := base64.StdEncoding.EncodeToString([]byte(v))
	quoted, _ := json.Marshal(v)
	forms := map[string]string{
		"plain": v, "JSON": strings.Trim(string(quoted), `"`), "hex": hex.EncodeToString([]byte(v)),
		"path": url.PathEscape(v), "query": url.QueryEscape(v),
		"base64": b64[:len(b64)/4*4-4], "shifted": base64.StdEncoding.EncodeToString([]byte("u:" + v))[4:][:len(v)*4/3-3],
	}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		for form, text := range forms {
			if len(text) >= 6 && bytes.Contains(b, []byte(text)) {
				at := bytes.Index(b, []byte(text))
				out = append(out, form+" in "+filepath.Base(path)+": …"+string(b[max(0, at-300):min(len(b), at+len(text)+100)]))
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// A value that is recognised in one place of an action is recorded nowhere: not in the
// other places of the action, not in what hooks say, in metadata, state, questions,
// logs and notices, whatever its length.
func TestWhatIsSecretOnceIsSecretEverywhere(t *testing.T) {
	const alnum = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	for _, n := range []int{6, 7, 9, 13, 16, 31, 64} {
		v := someChars(t, n-1, alnum+"!#%&*+,-.:;=?@^_~ ") + "7"
		v = strings.ReplaceAll(v[:1], " ", "x") + v[1:]
		q, _ := json.Marshal(v)
		Q, text := string(q), strings.Trim(string(q), `"`)
		b64 := base64.StdEncoding.EncodeToString([]byte("u:" + v))
		said := "cannot write /etc/" + v + "/x as " + b64
		quotedSaid, _ := json.Marshal(said)
		S := string(quotedSaid)
		dir := t.TempDir()
		write(t, filepath.Join(dir, "belay.yaml"),
			"version: belay/v1\nredact: {keys: [vault]}\nevents:\n  sinks:\n    - jsonl: {path: "+dir+"/out/events.jsonl}\n")
		if err := os.Mkdir(filepath.Join(dir, "out"), 0o700); err != nil {
			t.Fatal(err)
		}
		meta := `"phase":"pre_tool","runtime":"custom","session":"s","run":"r","cwd":"/home/dev/` + text + `"`
		wire := []string{
			`{` + meta + `,"action":{"tool":"exec","call_id":"c","args":{"command":"rm -rf /etc/` + text + ` ` + b64 +
				`","vault":` + Q + `}}}`,
			`{` + meta + `,"metadata":{"vault":` + Q + `},"action":{"tool":"exec","call_id":"c","args":{"command":"echo ` +
				text + `","` + text + `":1}}}`,
			`{"phase":"post_tool","runtime":"custom","session":"s","run":"r","action":{"tool":"exec","call_id":"c","args":{"command":"cat ` + text + `"},"original_args":{"vault":` + Q + `},"result":{"stdout":"x` + text + `y"}}}`,
			`{"phase":"pre_plan","runtime":"custom","session":"s","run":"r","action":{"kind":"message","text":"use ` + text +
				`","attachments":[{"name":"a","vault":` + Q + `}]}}`,
			`{"phase":"pre_send","runtime":"custom","session":"s","run":"r","action":{"provider":"p","model":"m","messages":[{"role":"user","content":"it is ` + text + `"}],"params":{"vault":` + Q + `}}}`,
			`{"phase":"state_transition","runtime":"custom","session":"s","run":"r","action":{"machine":"stage","from":"a","to":"b","data":{"vault":` + Q + `,"x":[` + S + `]}}}`,
			`{"phase":"audit","runtime":"custom","session":"s","run":"r","action":{"kind":"note","data":{"vault":` + Q +
				`,"x":[` + S + `]}}}`,
		}
		var log bytes.Buffer
		hooks := map[string][]byte{
			"notes": babbler(0, spoken{"log", []string{"\x00", said}}, spoken{"annotate", []string{"note", S}},
				spoken{"state_put", []string{"note", said}}),
			"context": babbler(0, spoken{"add_context", []string{said}},
				spoken{"put_artifact", []string{`{"name":"a","media_type":"text/plain","text":` + S + `}`}}),
			"blocks":   babbler(0, spoken{"block", []string{said}}),
			"asks":     babbler(0, spoken{"request_approval", []string{`{"reason":` + S + `,"details":{"all":` + S + `}}`}}),
			"rewrites": babbler(0, spoken{"rewrite", []string{"/args/note", said, "\x00"}}),
			"fails":    babbler(1, spoken{"fail", []string{said}}),
			"name":     babbler(0, spoken{"state_put", []string{"a " + v, "x"}}),
			"shows it late": babbler(0, spoken{"state_put", []string{"note", "late-" + v}},
				spoken{"annotate", []string{"note", `"late-` + text + `"`}},
				spoken{"log", []string{"\x00", "late"}}, spoken{"rewrite", []string{"/args/vault", v, "\x00"}}),
		}
		for name, module := range hooks {
			wire := wire
			if name == "shows it late" {
				wire = []string{`{` + meta + `,"action":{"tool":"exec","call_id":"c","args":{"command":"rm -rf /etc/` + text +
					`"}}}`}
			}
			host := open(t, dir,
				belay.Options{Logger: slog.New(slog.NewTextHandler(&log, nil)),
					Hooks: []belay.AdHocHook{{Name: "babbler", Module: module}}})
			for _, w := range wire {
				inv, err := phases.DecodeInvocation([]byte(w))
				if err != nil {
					t.Fatalf("%v: %s", err, w)
				}
				if got, _ := host.Invoke(t.Context(), inv); got.Event == nil {
					t.Fatalf("%s: %+v", name, got)
				}
			}
			for _, f := range traces(t, dir, v) {
				t.Errorf("%d bytes, %s: %s", n, name, f)
			}
			host.Close()
			for _, f := range traces(t, dir, v) {
				t.Errorf("%d bytes, %s, afterwards: %s", n, name, f)
			}
			if t.Failed() {
				t.Fatalf("the value is %q", v)
			}
		}
		if strings.Contains(log.String(), v) {
			t.Errorf("%q in the log: %s", v, log.String())
		}
	}
}
