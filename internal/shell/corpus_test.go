package shell

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// TestWrappersHandOnWhatTheirManualsSay reads testdata/wrappers.txt and wrappers_more.txt: of each command,
// exactly what it hands on to be run is told, and exactly what cannot be told stands in unknown.
func TestWrappersHandOnWhatTheirManualsSay(t *testing.T) {
	var src []byte
	for _, file := range []string{"testdata/wrappers.txt", "testdata/wrappers_more.txt"} {
		part, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		src = append(src, part...)
	}
	rows, right := 0, 0
	for line := range strings.Lines(string(src)) {
		command, expected, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " ⇒ ")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		rows++
		reply, _ := Parse(strings.ReplaceAll(command, `\n`, "\n"))
		want := strings.Split(expected, " ¦ ")
		if expected == "-" {
			want = nil
		}
		got := handedOn(&reply)
		if reply.OK && !reply.Truncated && sameParts(got, want) {
			right++
			continue
		}
		t.Errorf("%s\n\tgot  %s\n\twant %s", command, strings.Join(got, " ¦ "), expected)
	}
	t.Logf("%d of %d rows are right", right, rows)
	if rows < 900 {
		t.Errorf("only %d rows", rows)
	}
}

// handedOn renders what the text does not name itself: the innermost commands of its wrappers, and the unknown.
func handedOn(r *Reply) []string {
	var parts []string
	for i, c := range r.Commands {
		inside := len(c.Via) > 0 || c.Parent >= 0 ||
			len(c.Context) > 0 && strings.HasPrefix(c.Context[len(c.Context)-1], "uncalled:")
		wraps := slices.ContainsFunc(r.Commands, func(in Command) bool { return in.Parent == i })
		if !inside || wraps || c.Name == "" && len(c.Words) > 0 && !c.Words[0].Known {
			continue
		}
		bare := c
		bare.Via = nil
		parts = append(parts, told(bare))
	}
	for _, u := range r.Unknown {
		parts = append(parts, "?"+u.What)
	}
	for _, p := range r.UnknownPrograms {
		part := "?program " + p.Language
		switch {
		case p.File != "":
			part += "@" + p.File
		case p.Text != "" && !p.Partial:
			part += "=" + strings.ReplaceAll(p.Text, "\n", `\n`)
		}
		parts = append(parts, part)
	}
	return parts
}

// sameParts compares without regard to order; "?program python" matches any text.
func sameParts(got, want []string) bool {
	rest := slices.Clone(got)
	for _, w := range want {
		at := slices.IndexFunc(rest, func(g string) bool {
			return g == w || strings.HasPrefix(w, "?program ") && !strings.ContainsAny(w, "=@") &&
				strings.HasPrefix(g, w)
		})
		if at < 0 {
			return false
		}
		rest = slices.Delete(rest, at, at+1)
	}
	return len(rest) == 0
}

// TestOrdinaryCommandsAreTold reads testdata/ordinary.txt: commands that have wrappers, interpreters and settings in
// them, and nothing that cannot be told.
func TestOrdinaryCommandsAreTold(t *testing.T) {
	src, err := os.ReadFile("testdata/ordinary.txt")
	if err != nil {
		t.Fatal(err)
	}
	rows, right := 0, 0
	for line := range strings.Lines(string(src)) {
		if line = strings.TrimSuffix(line, "\n"); line == "" || line[0] == '#' {
			continue
		}
		rows++
		reply, _ := Parse(line)
		if named := !slices.ContainsFunc(reply.Commands, func(c Command) bool { return c.Name == "" }); reply.OK &&
			!reply.Truncated && named && len(reply.Unknown) == 0 {
			right++
			continue
		}
		t.Errorf("%s: ok %v (%s), unknown %+v", line, reply.OK, reply.Error, reply.Unknown)
	}
	t.Logf("%d of %d commands are told", right, rows)
}
