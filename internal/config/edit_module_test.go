package config_test

import (
	"strings"
	"testing"

	"github.com/belay-hooks/belay/internal/config"
)

// An upgrade changes module and capabilities of one binding; comments, order and everything else stay.
func TestSetModule(t *testing.T) {
	const was = `version: belay/v1
hooks:
  - name: first # stays first
    module: ./guard.wasm
    digest: sha256:1111111111111111111111111111111111111111111111111111111111111111
    priority: 7
    capabilities: [block, shell_parse] # what it may
    config: {a: 1}
  - name: second
    module: builtin:strip-ansi
    capabilities: ["rewrite:/result"]
`
	const digest = "sha256:2222222222222222222222222222222222222222222222222222222222222222"
	out, left, err := config.SetModule([]byte(was), "first", digest, []string{"block", "shell_parse", "pattern_match"})
	if err != nil || len(left) > 0 {
		t.Fatal(err, left)
	}
	want := strings.NewReplacer("./guard.wasm", digest,
		"    digest: sha256:1111111111111111111111111111111111111111111111111111111111111111\n", "",
		"shell_parse]", "shell_parse, pattern_match]").Replace(was)
	// A text is written in quotes where a plain one could be misread.
	if got := strings.ReplaceAll(string(out), `"`, ""); got != strings.ReplaceAll(want, `"`, "") {
		t.Errorf("got\n%s\nwant\n%s", out, want)
	}
	back, left, err := config.SetModule(out, "first", "builtin:command-guard", []string{"block"})
	if err != nil {
		t.Fatal(err)
	}
	f, err := config.Parse(back)
	if err != nil || f.Hooks[0].Module != "builtin:command-guard" ||
		len(f.Hooks[0].Capabilities) != 1+len(left) || f.Hooks[0].Priority != 7 || f.Hooks[1].Name != "second" {
		t.Errorf("%v, left %v\n%s", err, left, back)
	}
	if _, _, err := config.SetModule(out, "third", digest, nil); err == nil {
		t.Error("a binding that there is not was changed")
	}
}
