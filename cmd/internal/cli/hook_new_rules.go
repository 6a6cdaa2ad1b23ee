package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/belay-hooks/belay/internal/files"
	"github.com/belay-hooks/belay/internal/hookbuild"
	"github.com/belay-hooks/belay/internal/rules"
	"github.com/belay-hooks/belay/internal/rules/code"
	"github.com/belay-hooks/belay/internal/strictyaml"
	"github.com/belay-hooks/belay/internal/suite"
)

// fromRules is a new hook that begins with the rules of a file.
type fromRules struct {
	start *hookbuild.Start
	rules int
	cases []string // files of cases that were copied
	other string   // FILE#changes, where the file has rules for a second hook
}

// startFromRules writes the rules of a file, FILE or FILE#changes, as source, with the cases of the file.
func startFromRules(spec, name, language string) (*fromRules, error) {
	if !slices.Contains(code.Languages(), language) {
		return nil, usageError(fmt.Sprintf("rules cannot be written as a hook in %s", safe(language)),
			"--from rules knows "+strings.Join(code.Languages(), ", ")+".")
	}
	file, asked, _ := rules.ParseModule(rules.Scheme + spec)
	f, err := readRules(file)
	if err != nil {
		return nil, rulesFailure(err)
	}
	parts := f.Parts()
	part := parts[0]
	if asked == rules.Changes {
		part = asked
	}
	o, err := f.Outline(file, part)
	if errors.Is(err, rules.ErrNoPart) {
		return nil, failure(safe(file)+" has no rules that change the action", "Leave #changes out.")
	}
	if err != nil {
		return nil, outlineFailure(err)
	}
	source, err := code.Write(o, name, filepath.Base(file), language)
	if err != nil {
		return nil, failureBy(err, "")
	}
	out := &fromRules{start: &hookbuild.Start{Files: source.Files, Sources: source.Describes}, rules: len(o.Rules)}
	if len(parts) == 2 && part == rules.Judges {
		out.other = file + "#changes"
	}
	if out.cases, err = copyCases(source.Files, file, part); err != nil {
		return nil, failureBy(err, "The cases of the rules become those of the hook.")
	}
	return out, nil
}

// outlineFailure is rulesFailure for rules that are right, and cannot be written as source.
func outlineFailure(err error) error {
	var all []string
	for _, e := range rules.All(err) {
		all = append(all, safe(e.Error()))
	}
	if len(all) == 0 {
		return failureBy(err, "")
	}
	return failure(strings.Join(all, "\n"), "Move these rules to a file of their own, which is bound beside the new hook.")
}

// hookLine is the line that says which hook a suite is about.
var hookLine = regexp.MustCompile(`(?m)^"?hook"?\s*:.*\n`)

// copyCases adds those suites in cases, beside the rules file, that are about the part.
func copyCases(to map[string][]byte, file string, part rules.Part) ([]string, error) {
	found, err := filepath.Glob(filepath.Join(escapeGlob(filepath.Dir(file)), "cases", "*.yaml"))
	if err != nil {
		return nil, err
	}
	var copied []string
	for _, at := range found {
		s, err := suite.ReadFile(at)
		if err != nil {
			return nil, err
		}
		of, about, isRules := rules.ParseModule(s.Hook)
		if !isRules || about != part || !isOneFile(filepath.Join(filepath.Dir(at), of), file) {
			continue
		}
		src, err := files.Read(at, strictyaml.MaxSize)
		if err != nil {
			return nil, err
		}
		src = hookLine.ReplaceAll(src, nil)
		again, err := suite.Parse(src)
		if err != nil || again.Hook != "" || len(again.Cases) != len(s.Cases) {
			return nil, fmt.Errorf("%s: write hook: on a line of its own, so that it can be left out", at)
		}
		for i := range again.Cases {
			if again.Cases[i].Recording != "" {
				return nil, fmt.Errorf("%s: the case %q is of a recording, which is not copied", at, again.Cases[i].Name)
			}
		}
		name := "cases/" + filepath.Base(at)
		to[name] = src
		copied = append(copied, name)
	}
	return copied, nil
}

func isOneFile(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

func escapeGlob(path string) string {
	return strings.NewReplacer("*", `\*`, "?", `\?`, "[", `\[`, `\`, `\\`).Replace(path)
}

func (a *App) describeFromRules(from *fromRules, dir string) {
	fmt.Fprintf(a.Out, "It has %s of the file, a function each, and decides as they do.\n", plural(from.rules, "rule"))
	if len(from.cases) == 0 {
		fmt.Fprintf(a.Err, "belay: note: there are no cases about the rules in cases, beside the file; write some in %s\n",
			safe(filepath.Join(dir, "cases")))
	}
	if from.other != "" {
		fmt.Fprintf(a.Err, "belay: note: rules that change the action are a hook of their own: --from rules %s\n", safe(from.other))
	}
}
