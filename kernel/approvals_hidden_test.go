package kernel

import (
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

func TestHiddenWords(t *testing.T) {
	const r = "[redacted:password:0a1b2c3d]"
	for name, c := range map[string]struct{ alone, shown, want string }{
		"path in a command": {`{"args":{"command":"rm -rf /etc/V"}}`, `{"args":{"command":"rm -rf /etc/` + r + `"}}`,
			"/action/args/command"},
		"program": {`{"args":{"command":"V --help"}}`, `{"args":{"command":"` + r + ` --help"}}`,
			"/action/args/command"},
		"inside a wrapper": {`{"args":{"command":"sudo sh -c 'rm V'"}}`, `{"args":{"command":"sudo sh -c 'rm ` + r +
			`'"}}`, "/action/args/command"},
		"file written": {`{"args":{"command":"ls > V"}}`, `{"args":{"command":"ls > ` + r + `"}}`,
			"/action/args/command"},
		"only printed": {`{"args":{"command":"echo V"}}`, `{"args":{"command":"echo ` + r + `"}}`, ""},
		"a variable":   {`{"args":{"command":"A=V ls"}}`, `{"args":{"command":"A=` + r + ` ls"}}`, ""},
		"a secret by itself": {`{"args":{"command":"login -p ` + r + `"}}`, `{"args":{"command":"login -p ` + r + `"}}`,
			""},
		"no shell": {`{"args":{"command":"echo 'V"}}`, `{"args":{"command":"echo '` + r + `"}}`,
			"/action/args/command"},
		"commands": {`{"args":{"Commands":["ls","rm V"]}}`, `{"args":{"Commands":["ls","rm ` + r + `"]}}`,
			"/action/args/Commands/1"},
		"another name of a command": {`{"args":{"bash_command":"rm V"}}`, `{"args":{"bash_command":"rm ` + r + `"}}`,
			"/action/args/bash_command"},
		"code": {`{"args":{"code":"f('V')"}}`, `{"args":{"code":"f('` + r + `')"}}`, "/action/args/code"},
		"path of a file": {`{"args":{"file_path":"/x/V","content":"V"}}`,
			`{"args":{"file_path":"/x/` + r + `","content":"` + r + `"}}`, "/action/args/file_path"},
		"list of paths": {`{"args":{"paths":["a","V"]}}`, `{"args":{"paths":["a","` + r + `"]}}`,
			"/action/args/paths/1"},
		"host": {`{"args":{"url":"https://V.test/"}}`, `{"args":{"url":"https://` + r + `.test/"}}`,
			"/action/args/url"},
		"ref":  {`{"args":{"branch":"V"}}`, `{"args":{"branch":"` + r + `"}}`, "/action/args/branch"},
		"tool": {`{"tool":"V"}`, `{"tool":"` + r + `"}`, "/action/tool"},
		"data": {`{"args":{"text":"V","note":["V"]}}`, `{"args":{"text":"` + r + `","note":["` + r + `"]}}`,
			""},
		"the name of a member": {`{"args":{"V":{"path":"x"}}}`, `{"args":{"` + r + `":{"path":"x"}}}`, "/action/args/V/path"},
	} {
		got := hiddenWords(jsontext.Value(c.alone), jsontext.Value(c.shown))
		var want []string
		if c.want != "" {
			want = []string{c.want}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

// A long name above many words that are redacted costs no more than the action is long.
func TestHiddenWordsBelowALongName(t *testing.T) {
	doc := func(value string) jsontext.Value {
		return jsontext.Value(`{"` + strings.Repeat("n", 100<<10) + `":[` +
			strings.TrimSuffix(strings.Repeat(`{"host":"`+value+`"},`, 5000), ",") + `]}`)
	}
	alone, shown := doc("a"), doc("b")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got := hiddenWords(alone, shown)
	runtime.ReadMemStats(&after)
	if !slices.Equal(got, []string{"/action"}) {
		t.Errorf("%d pointers", len(got))
	}
	if spent := after.TotalAlloc - before.TotalAlloc; spent > 512*uint64(len(alone)) {
		t.Errorf("%d bytes were allocated for an action of %d", spent, len(alone))
	}
}
