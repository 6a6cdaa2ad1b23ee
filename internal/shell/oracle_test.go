package shell

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestKnownOutputIsWhatBashPrints: the text that the parser expects a pipeline
// to hand to a shell is the one that bash, with the programs of this machine,
// prints there. Programs that are reported by name only, such as which, are
// left out.
func TestKnownOutputIsWhatBashPrints(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Fatal(err)
	}
	src, err := os.ReadFile("testdata/commands.txt")
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for line := range strings.Lines(string(src)) {
		line = strings.ReplaceAll(strings.TrimSuffix(line, "\n"), `\n`, "\n")
		before, piped := strings.CutSuffix(line, "| sh")
		reply, _ := Parse(line)
		if !piped || !reply.OK || len(reply.Commands) == 0 {
			continue
		}
		// `a && b | sh` pipes b alone; base64 -D is another system's.
		if strings.Contains(before, "&&") && !strings.HasPrefix(before, "(") || strings.Contains(before, "base64 -D") {
			continue
		}
		// What sh itself gets is told of the command sh that the text names, not of those inside.
		at := slices.IndexFunc(reply.Commands, func(c Command) bool {
			return c.Name == "sh" && c.Raw == "sh" && c.Parent < 0
		})
		if at < 0 || reply.Commands[at].Stdin == nil || !reply.Commands[at].Stdin.Known {
			continue
		}
		if slices.ContainsFunc(reply.Commands, func(c Command) bool {
			if slices.Contains([]string{"which", "type", "command"}, c.Name) {
				return true
			}
			_, err := exec.LookPath(c.Name)
			return err != nil && slices.Contains([]string{"xxd", "openssl", "basenc", "rev"}, c.Name)
		}) {
			continue
		}
		cmd := exec.Command(bash, "-c", before)
		cmd.Dir = t.TempDir()
		out, err := cmd.Output()
		if told := reply.Commands[at].Stdin.Text; told != string(out) {
			t.Errorf("%s\ntold %q\nbash %q (%v)", before, told, out, err)
		}
		compared++
	}
	if compared < 25 {
		t.Errorf("only %d were compared", compared)
	}
}
