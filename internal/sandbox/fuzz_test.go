package sandbox

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// The host reads the name section only after a guest has crashed, unvalidated:
// whatever it holds, the answer is short and printable.
func FuzzFuncNames(f *testing.F) {
	f.Add([]byte{1, 1, 0, 3, 'a', 'b', 'c'}, uint32(0))
	f.Add([]byte{0, 2, 1, 'm', 1, 6, 1, 0, 3, 'a', 0x1b, 0xff}, uint32(0))
	f.Add([]byte{1, 0xff, 0xff, 0xff, 0xff, 0x0f}, uint32(7))
	f.Fuzz(func(t *testing.T, section []byte, fn uint32) {
		for _, names := range []funcNames{funcNames(section), subsection(section, 1)} {
			got := names.of(fn)
			if len(got) > maxFunction || got == "" || !utf8.ValidString(got) ||
				strings.ContainsFunc(got, func(r rune) bool { return r < 0x20 || r > 0x7e }) {
				t.Errorf("%q", got)
			}
		}
	})
}

// Files of any kind are refused or loaded; they never end the process.
func FuzzLoad(f *testing.F) {
	for _, name := range []string{"guard", "init_order", "traps"} {
		f.Add(guest(f, name))
	}
	e := open(f, Options{Interpreter: true})
	f.Fuzz(func(t *testing.T, file []byte) {
		m, err := e.Load(t.Context(), file, LoadOptions{})
		if err != nil {
			return
		}
		defer m.Close()
		for _, p := range m.Info().Phases {
			o := run(t, m, RunRequest{Phase: p, Fuel: 1 << 16, Timeout: -1}, lsAction)
			if o.Report.Fuel > 1<<22 {
				t.Errorf("used %d", o.Report.Fuel)
			}
		}
	})
}
