package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// compiled are hooks as programs of their own, by the compiler that makes them: exit code 2 refuses.
func compiled() []program {
	return []program{
		{"a hook in C", "hook.c", []string{"cc", "clang-19", "clang"}, []string{"-O2", "-o"}, `#include <string.h>
#include <unistd.h>

static char event[1 << 20];

int main(void) {
	size_t used = 0;
	for (ssize_t n; (n = read(0, event + used, sizeof event - 1 - used)) > 0;)
		used += (size_t)n;
	char *command = strstr(event, "\"command\":\"");
	if (!command)
		return 2;
	char *end = strchr(command += 11, '"');
	if (!end)
		return 2;
	*end = 0;
	return strstr(command, "rm -rf /") ? 2 : 0;
}
`},
		{"a hook in Go", "hook.go", []string{"go"}, []string{"build", "-trimpath", "-o"}, `package main

import (
	"encoding/json"
	"os"
	"strings"
)

func main() {
	var event struct {
		Input struct{ Command string } ` + "`json:\"tool_input\"`" + `
	}
	if json.NewDecoder(os.Stdin).Decode(&event) != nil || strings.Contains(event.Input.Command, "rm -rf /") {
		os.Exit(2)
	}
}
`},
	}
}

type program struct {
	name, file string
	compilers  []string // the first that is here
	flags      []string // the output follows
	text       string
}

// command builds the program. Where no compiler is here, the command says so.
func (p *program) command(ctx context.Context, y *yard) (command, error) {
	for _, name := range p.compilers {
		compiler, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		source := filepath.Join(y.work, p.file)
		if err := os.WriteFile(source, []byte(p.text), 0o600); err != nil {
			return command{}, err
		}
		cmd := exec.CommandContext(ctx, compiler, append(p.flags, source+".out", source)...)
		cmd.Dir = y.work
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			return command{}, fmt.Errorf("%s: %w: %s", p.name, err, out)
		}
		return command{name: p.name, args: []string{source + ".out"}}, nil
	}
	return command{name: p.name, missing: p.compilers[0]}, nil
}
