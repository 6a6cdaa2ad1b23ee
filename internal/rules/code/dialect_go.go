package code

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/belay-hooks/belay/internal/rules"
	"github.com/belay-hooks/belay/phases"
)

type goDialect struct{}

func (goDialect) template() string { return "go/rules.go.tmpl" }
func (goDialect) main() string     { return "main.go" }
func (goDialect) rules() string    { return "rules.go" }
func (goDialect) describes() string {
	return "`main.go`: the rules, a function each; `rules.go`: what they can ask and answer"
}

func (goDialect) head(o *rules.Outline, file string) string {
	imports := ""
	for i := range o.Rules {
		if o.Rules[i].Scopes != nil {
			imports = "import hook \"github.com/belay-hooks/belay/hooks-sdk/go\"\n\n"
		}
	}
	return "// Command main decides what the rules of " + file + " say.\npackage main\n\n" + imports +
		"func main() {}\n"
}

func (goDialect) rule(r *rules.OutlineRule, name, file string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n// %s is %s\nfunc %s(c *call) holds {\n\th := c.rule()\n", camel(name), said(r, file), camel(name))
	for i := range r.When {
		form := "\tif !h.and(%s) {\n\t\treturn h\n\t}\n"
		if last(r, i) {
			form = "\th.and(%s)\n"
		}
		fmt.Fprintf(&b, form, goCondition(&r.When[i]))
	}
	if len(r.Unless) > 0 {
		var all []string
		for i := range r.Unless {
			all = append(all, goCondition(&r.Unless[i])+".yes()")
		}
		fmt.Fprintf(&b, "\tif %s { // unless\n\t\treturn of(false)\n\t}\n", strings.Join(all, " &&\n\t\t"))
	}
	b.WriteString("\treturn h\n}\n")
	return b.String()
}

func goCondition(c *rules.Condition) string {
	if at, ok := namedAt(c.Is); ok {
		return fmt.Sprintf("c.named(%s)", goTexts(append([]string{at}, c.Match...)))
	}
	switch c.Is {
	case "tool":
		return fmt.Sprintf("c.tool(%s)", goTexts(c.Match))
	case "mcp_server":
		return fmt.Sprintf("c.server(%s)", goTexts(c.Match))
	case "branch", "repository":
		return fmt.Sprintf("c.claimed(%s)", goTexts(append([]string{c.Is}, c.Match...)))
	case "annotation":
		return fmt.Sprintf("c.annotated(%q, %t%s)", c.At[0], c.Trusted, goMore(c.Match))
	case "config":
		return fmt.Sprintf("c.configured(%s)", goTexts(append([]string{c.At[0]}, c.Match...)))
	case "size":
		return fmt.Sprintf("c.larger(%q, %d)", c.At[0], c.Over)
	case "time":
		return fmt.Sprintf("c.within(0b%07b, %d, %d, %d)", c.Days, c.From, c.To, c.East)
	case "text":
		return fmt.Sprintf("c.texts([]string{%s}%s)", goTexts(c.At), goMore(c.Match))
	}
	var b strings.Builder
	b.WriteString("c.runs(\n")
	for _, p := range c.Commands {
		fmt.Fprintf(&b, "\t\tpattern{program: %q%s%s%s},\n", p.Program, goField("sub", p.Sub), goField("flags", p.Flags),
			goField("args", p.Args))
	}
	return b.String() + "\t)"
}

func goField(name string, list []string) string {
	if len(list) == 0 {
		return ""
	}
	return fmt.Sprintf(", %s: []string{%s}", name, goTexts(list))
}

func goTexts(list []string) string { return joined(list, strconv.Quote) }

func goMore(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return ", " + goTexts(list)
}

func (goDialect) begin(p phases.Phase) string {
	return fmt.Sprintf("\n//go:wasmexport %s\nfunc %s() int32 {\n\tc := newCall(%q)\n", p, camel("on_"+string(p)), p)
}

func (goDialect) answer(r *rules.OutlineRule, name string) string {
	holds := camel(name) + "(c)"
	switch r.Answer {
	case "block":
		return fmt.Sprintf("\tc.blocks(%q, %s, %t, %q)\n", r.Name, holds, r.DoubtBlocks, r.Reason)
	case "ask":
		return fmt.Sprintf("\tc.asksFor(%q, %s, %t, %q)\n", r.Name, holds, r.DoubtBlocks, r.Reason)
	case "limit":
		return fmt.Sprintf("\tc.limits(%q, %s, %t, %t, %q, %q, %d, %d)\n", r.Name, holds, r.DoubtBlocks, r.Asks, r.Reason,
			r.By, r.Count, r.Window)
	case "require_lease":
		return fmt.Sprintf("\tc.needsLease(%q, %s, %t, %t, %q, %q)\n", r.Name, holds, r.DoubtBlocks, r.Asks, r.Reason,
			r.Capability)
	case "require_stage":
		return fmt.Sprintf("\tc.needsStage(%q, %s, %t, %t, %q%s)\n", r.Name, holds, r.DoubtBlocks, r.Asks, r.Reason,
			goMore(r.Stages))
	case "annotate":
		return fmt.Sprintf("\tc.annotates(%s, %s)\n", holds, goValues(r.Values))
	case "fix":
		return fmt.Sprintf("\tc.fixes(%q, %s, %t, %s)\n", r.Name, holds, r.DoubtBlocks, goValues(r.Values))
	case "default":
		return fmt.Sprintf("\tc.defaults(%q, %s, %s)\n", r.Name, holds, goValues(r.Values))
	}
	var set []string
	for _, l := range scopeLists(r.Scopes) {
		set = append(set, fmt.Sprintf("%s: []string{%s}", l.goName, goTexts(l.list)))
	}
	return fmt.Sprintf("\tc.narrows(%s, hook.Scopes{%s})\n", holds, strings.Join(set, ", "))
}

func goValues(list []rules.OutlineValue) string {
	return joined(list, func(v rules.OutlineValue) string { return fmt.Sprintf("value{%q, %q}", v.At, v.JSON) })
}

func (goDialect) end() string { return "\treturn c.give()\n}\n" }

func (goDialect) tail(o *rules.Outline) string {
	var b strings.Builder
	b.WriteString("\n// valued are flags of a program, before its subcommand, that take the next word.\nfunc valued(program string) []string {\n\tswitch program {\n")
	for _, p := range valued(o) {
		fmt.Fprintf(&b, "\tcase %q:\n\t\treturn []string{%s}\n", p.Program, goTexts(p.Valued))
	}
	return b.String() + "\t}\n\treturn nil\n}\n"
}

// scopeList is one list of scopes that is set.
type scopeList struct {
	name, goName string
	list         []string
}

func scopeLists(s *phases.Scopes) (out []scopeList) {
	for _, l := range []scopeList{{"fs_read", "FSRead", s.FSRead}, {"fs_write", "FSWrite", s.FSWrite},
		{"net", "Net", s.Net}, {"tools", "Tools", s.Tools}} {
		if l.list != nil {
			out = append(out, l)
		}
	}
	return out
}
