package sandbox

import (
	"context"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/internal/sandbox/wasm"
	"github.com/belay-hooks/belay/phases"
)

// A module can name its functions as it likes: what reaches an operator is
// printable, short, and never looks like another module.
func TestFunctionNames(t *testing.T) {
	e := open(t, Options{})
	section := func(fn uint32, name string) wasm.Custom {
		sub := wasm.AppendU32(wasm.AppendU32(nil, 1), fn)
		sub = append(wasm.AppendU32(sub, uint32(len(name))), name...)
		b := append(wasm.AppendU32([]byte{1}, uint32(len(sub))), sub...)
		return wasm.Custom{Name: "name", Payload: b}
	}
	// Without the module's own name section, whatever it is.
	plain := reparse(t, guest(t, "traps"))
	plain.Customs = nil
	crash := uint32(len(plain.Imports))
	for name, c := range map[string]struct {
		custom wasm.Custom
		want   string
	}{
		"plain":       {section(crash, "parse"), `in "parse"`},
		"terminal":    {section(crash, "\x1b]0;owned\a\u202edeep"), `in "\u{1b}]0;owned\u{7}\u{202e}deep"`},
		"not UTF-8":   {section(crash, "a\xff\xfe"), `in "a\u{fffd}\u{fffd}"`},
		"long":        {section(crash, strings.Repeat("n", 1<<16)), "n..."},
		"other":       {section(crash+1, "other"), "in func "},
		"lying count": {wasm.Custom{Name: "name", Payload: []byte{1, 6, 0xff, 0xff, 0xff, 0xff, 0x0f, 9}}, "in func "},
		"lying size":  {wasm.Custom{Name: "name", Payload: []byte{1, 0xff, 0x7f, 1}}, "in func "},
		"empty":       {wasm.Custom{Name: "name"}, "in func "},
	} {
		m := load(t, e, encode(t, plain, c.custom))
		_, err := m.Run(context.Background(),
			RunRequest{Phase: phases.PrePlan, Session: session(t, phases.PrePlan, lsAction)})
		f := faultOf(t, err)
		if f == nil || f.Kind != phases.KindTrap || !strings.Contains(f.Cause.Error(), c.want) || len(f.Cause.Error()) > 256 {
			t.Errorf("%s: %q %q", name, f, f.Cause)
		}
		if strings.ContainsFunc(f.Error()+f.Cause.Error(), func(r rune) bool { return r < 0x20 || r > 0x7e }) {
			t.Errorf("%s: unescaped: %q", name, f.Cause)
		}
	}
}

func TestEscape(t *testing.T) {
	for in, want := range map[string]string{
		"plain text":            "plain text",
		"a\"b\\c":               `a\"b\\c`,
		"\x00\n\r\t":            `\u{0}\u{a}\u{d}\u{9}`,
		"é\u200b\U0001f600":     `\u{e9}\u{200b}\u{1f600}`,
		"\xff":                  `\u{fffd}`,
		strings.Repeat("x", 40): strings.Repeat("x", 29) + "...",
	} {
		if got := escape(in, 32); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
	if got := escape(strings.Repeat("\U0010ffff", 1000), 128); len(got) > 128 {
		t.Error(len(got))
	}
}
