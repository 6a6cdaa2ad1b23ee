package cli_test

import (
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The picture in README.md is what `make run` prints: the verdicts of the recorded session, without the turns of single
// hooks, and without what a run costs.
func TestPictureOfRun(t *testing.T) {
	cmd := exec.Command("belay", "demo", "--state", filepath.Join(t.TempDir(), "state"))
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	const file = "../../../docs/run.svg"
	want := pictureOf(string(out))
	if os.Getenv("BELAY_UPDATE_PICTURE") != "" {
		if err := os.WriteFile(file, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Count(want, "<text") < 25 || string(got) != want {
		t.Errorf("docs/run.svg is not what belay demo prints now; `BELAY_UPDATE_PICTURE=1 go test ./cmd/internal/cli " +
			"-run TestPictureOfRun` draws it")
	}
}

// The last columns of a verdict: what effects it had, its fuel and its time.
var costs = regexp.MustCompile(`\s+(?:FUEL\s+TIME|[0-9]+(?: [0-9]{3})*\s+[0-9.]+ (?:µs|ms|s))\s*$`)

const pictureLine = 19 // pixels

func pictureOf(demo string) string {
	lines := []string{"$ make run"}
	width := 0
	for line := range strings.Lines(demo) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(line, " ") {
			continue // the turn of one hook
		}
		line = strings.TrimRight(costs.ReplaceAllString(line, ""), " ")
		lines = append(lines, line)
		width = max(width, len([]rune(line)))
		if strings.Contains(line, " verdicts in ") {
			break
		}
	}
	w, h := width*8+32, len(lines)*pictureLine+28
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" aria-label="make run">`+"\n", w, h)
	b.WriteString(`<style>text{font:13.3px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;white-space:pre;fill:#d7dde4}` +
		`.allow{fill:#7fd18a}.ask{fill:#f0c35e}.block{fill:#ff7b72}</style>` + "\n")
	fmt.Fprintf(&b, `<rect width="%d" height="%d" rx="8" fill="#161b22"/>`+"\n", w, h)
	for i, line := range lines {
		fmt.Fprintf(&b, `<text x="16" y="%d" xml:space="preserve">%s</text>`+"\n", 26+i*pictureLine, colored(line))
	}
	b.WriteString("</svg>\n")
	return b.String()
}

var decision = regexp.MustCompile(`  (allow|ask|block)(  |$)`)

// colored is a line of the table with its decision in a colour.
func colored(line string) string {
	return decision.ReplaceAllString(html.EscapeString(line), `  <tspan class="$1">$1</tspan>$2`)
}
