package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

var (
	shellCommand = regexp.MustCompile(`(?m)^\s*(?:exec )?belay ((?:[^#\n]|#\S)+)`)
	listCommand  = regexp.MustCompile(`command: \[belay, ([^\]]*)\]\n\s*args: \[([^\]]*)\]`)
)

// Each command of belay that the Kubernetes example runs is one of this belay, with flags that it has.
func TestKubernetesCommands(t *testing.T) {
	files, err := filepath.Glob("../../../deploy/kubernetes/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	check := func(file, text string) {
		words := strings.Fields(text)
		root := (&App{}).root()
		command, rest, err := root.Find(words)
		if err == nil {
			err = command.ParseFlags(rest)
		}
		if err == nil {
			err = command.ValidateArgs(command.Flags().Args())
		}
		if err != nil || command == root {
			t.Errorf("%s: `belay %s`: %v", file, text, err)
			return
		}
		seen[command.Name()] = true
		command.Flags().Visit(func(f *pflag.Flag) { seen[command.Name()+" --"+f.Name] = true })
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range shellCommand.FindAllStringSubmatch(string(b), -1) {
			check(file, m[1])
		}
		for _, m := range listCommand.FindAllStringSubmatch(string(b), -1) {
			check(file, strings.NewReplacer(",", " ", `"`, "").Replace(m[1]+" "+m[2]))
		}
	}
	for _, want := range []string{"serve", "serve --tls-only", "migrate", "migrate --dsn-file"} {
		if !seen[want] {
			t.Errorf("no command was looked at that is belay %s", want)
		}
	}
}
