package code

import (
	"embed"
	"fmt"
	"go/format"
	"slices"
	"strconv"
	"strings"

	"github.com/belay-hooks/belay/internal/rules"
	"github.com/belay-hooks/belay/phases"
	"github.com/belay-hooks/belay/tiers"
)

// templates hold, for each language, what rules can ask and answer. They end in .tmpl so
// that no tool takes them for source of this repository.
//
//go:embed templates
var templates embed.FS

// Languages returns the languages that Write knows.
func Languages() []string { return []string{"go", "rust", "c"} }

// Source is a hook as source.
type Source struct {
	Files     map[string][]byte // by names with slashes: source, belay.yaml and an invocation.json
	Describes string            // what the source files are, one sentence, in Markdown
}

// Write writes the rules of an outline as a hook's source in a language, which is one of
// Languages. file is the name of the rules file, for comments.
func Write(o *rules.Outline, name, file, language string) (*Source, error) {
	var l dialect
	switch language {
	case "go":
		l = goDialect{}
	case "rust":
		l = rustDialect{}
	case "c":
		l = cDialect{}
	default:
		return nil, fmt.Errorf("rules cannot be written in %q: there are %s", language, strings.Join(Languages(), ", "))
	}
	vocabulary, err := templates.ReadFile("templates/" + l.template())
	if err != nil {
		return nil, err
	}
	named := functionNames(o.Rules)
	var b strings.Builder
	b.WriteString(l.head(o, file))
	for i := range o.Rules {
		b.WriteString(l.rule(&o.Rules[i], named[i], file))
	}
	for _, p := range o.Manifest.Phases {
		b.WriteString(l.begin(p))
		for i := range o.Rules {
			if r := &o.Rules[i]; slices.Contains(r.Phases, p) {
				b.WriteString(l.answer(r, named[i]))
			}
		}
		b.WriteString(l.end())
	}
	b.WriteString(l.tail(o))
	s := &Source{Describes: l.describes(), Files: map[string][]byte{
		l.main():          []byte(b.String()),
		l.rules():         grants(string(vocabulary), o.Manifest),
		"belay.yaml":      manifest(o.Manifest, name, file),
		"invocation.json": []byte(sample(tried(o.Manifest.Phases))),
	}}
	if language != "go" {
		return s, nil
	}
	for _, name := range []string{l.main(), l.rules()} {
		if s.Files[name], err = format.Source(s.Files[name]); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// dialect is how a language writes rules.
type dialect interface {
	template() string
	main() string  // the file of the rules
	rules() string // the file of the vocabulary
	describes() string
	head(o *rules.Outline, file string) string
	rule(r *rules.OutlineRule, name, file string) string
	begin(p phases.Phase) string
	answer(r *rules.OutlineRule, name string) string
	end() string
	tail(o *rules.Outline) string
}

// grants says in the vocabulary which effects the manifest asks for: what it names would be imported.
func grants(vocabulary string, m *tiers.Manifest) []byte {
	may := func(capability string) string {
		return strconv.FormatBool(slices.ContainsFunc(m.Capabilities, func(c tiers.WantedCapability) bool {
			return c.Name == capability || strings.HasPrefix(c.Name, capability+":")
		}))
	}
	return []byte(strings.NewReplacer("MAY_ASK", may("request_approval"), "MAY_ANNOTATE", may("annotate"),
		"MAY_REWRITE", may("rewrite"), "MAY_NARROW", may("clamp_scopes")).Replace(vocabulary))
}

// functionNames are the names of the functions of rules: words of lower-case letters and digits, joined by _.
func functionNames(list []rules.OutlineRule) (out []string) {
	for i := range list {
		name := "rule_" + strings.NewReplacer("-", "_", ".", "_").Replace(list[i].Name)
		for n := 2; slices.ContainsFunc(out, func(s string) bool { return camel(s) == camel(name) }); n++ {
			name = fmt.Sprintf("%s_%d", name, n)
		}
		out = append(out, name)
	}
	return out
}

// camel turns rule_no_push into ruleNoPush.
func camel(name string) string {
	var b strings.Builder
	for i, word := range strings.Split(name, "_") {
		if i > 0 && word != "" {
			word = strings.ToUpper(word[:1]) + word[1:]
		}
		b.WriteString(word)
	}
	return b.String()
}

// joined writes each item by a function, with commas between.
func joined[T any](list []T, write func(T) string) string {
	var out []string
	for _, item := range list {
		out = append(out, write(item))
	}
	return strings.Join(out, ", ")
}

// namedAt is the pointer of a condition about a name in the input.
func namedAt(is string) (pointer string, ok bool) {
	switch is {
	case "runtime", "agent", "user":
		return "/" + is, true
	}
	return "", false
}

// tried is the phase of the invocation to try the hook on: pre_tool if it is asked there.
func tried(list []phases.Phase) phases.Phase {
	if slices.Contains(list, phases.PreTool) {
		return phases.PreTool
	}
	return list[0]
}

// last reports whether nothing of the rule follows behind a condition of when.
func last(r *rules.OutlineRule, i int) bool { return i == len(r.When)-1 && len(r.Unless) == 0 }

// valued returns one command of each program that has flags with values, by name.
func valued(o *rules.Outline) (out []rules.OutlineCommand) {
	for i := range o.Rules {
		for _, c := range o.Rules[i].When {
			for _, p := range c.Commands {
				known := slices.ContainsFunc(out, func(k rules.OutlineCommand) bool { return k.Program == p.Program })
				if len(p.Valued) > 0 && !known {
					out = append(out, p)
				}
			}
		}
	}
	slices.SortFunc(out, func(a, b rules.OutlineCommand) int { return strings.Compare(a.Program, b.Program) })
	return out
}

// about reports whether a rule has the condition.
func about(o *rules.Outline, is string) bool {
	return slices.ContainsFunc(o.Rules, func(r rules.OutlineRule) bool {
		return slices.ContainsFunc(r.When, func(c rules.Condition) bool { return c.Is == is })
	})
}

// said is one line about a rule, for a comment.
func said(r *rules.OutlineRule, file string) string {
	return fmt.Sprintf("%s: %s, line %d.", r.Name, file, r.Line)
}
