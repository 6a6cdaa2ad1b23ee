package code

import (
	"fmt"
	"strings"

	"github.com/belay-hooks/belay/internal/rules"
	"github.com/belay-hooks/belay/phases"
)

type cDialect struct{}

func (cDialect) template() string { return "c/rules.h.tmpl" }
func (cDialect) main() string     { return "hook.c" }
func (cDialect) rules() string    { return "rules.h" }
func (cDialect) describes() string {
	return "`hook.c`: the rules, a function each; `rules.h`: what they can ask and answer"
}

func (cDialect) head(_ *rules.Outline, file string) string {
	return "// Decides what the rules of " + file + " say.\n#include \"belay.h\"\n#include \"rules.h\"\n"
}

func (cDialect) rule(r *rules.OutlineRule, name, file string) string {
	var lists cLists
	var b strings.Builder
	for i := range r.When {
		form := "  if (!rules_and(&h, %s)) return h;\n"
		if last(r, i) {
			form = "  rules_and(&h, %s);\n"
		}
		fmt.Fprintf(&b, form, lists.condition(&r.When[i]))
	}
	if len(r.Unless) > 0 {
		var all []string
		for i := range r.Unless {
			all = append(all, "rules_yes("+lists.condition(&r.Unless[i])+")")
		}
		fmt.Fprintf(&b, "  if (%s) return rules_of(false); // unless\n", strings.Join(all, " &&\n      "))
	}
	return fmt.Sprintf("\n// %s\nstatic rules_holds %s(rules_call *c) {\n%s  rules_holds h = rules_rule(c);\n%s  return h;\n}\n",
		said(r, file), name, lists.declared.String(), b.String())
}

// cLists are the constants of a function: a list of texts is an array with a name, so that it takes no stack.
type cLists struct {
	declared strings.Builder
	n        int
}

// list declares a list and returns it as an initialiser.
func (l *cLists) list(texts []string) string {
	if len(texts) == 0 {
		return "RULES_NO_LIST"
	}
	l.n++
	fmt.Fprintf(&l.declared, "  static const belay_text list_%d[] = {%s};\n", l.n, joined(texts, cConstant))
	return fmt.Sprintf("RULES_LIST(list_%d)", l.n)
}

// texts declares a list and returns it as an expression.
func (l *cLists) texts(list []string) string { return "(rules_list)" + l.list(list) }

func (l *cLists) condition(c *rules.Condition) string {
	if at, ok := namedAt(c.Is); ok {
		return fmt.Sprintf("rules_named(%s, %s)", cText(at), l.texts(c.Match))
	}
	switch c.Is {
	case "tool":
		return fmt.Sprintf("rules_tool(%s)", l.texts(c.Match))
	case "mcp_server":
		return fmt.Sprintf("rules_server(%s)", l.texts(c.Match))
	case "branch", "repository":
		return fmt.Sprintf("rules_claimed(%s, %s)", cText(c.Is), l.texts(c.Match))
	case "annotation":
		return fmt.Sprintf("rules_annotated(%s, %t, %s)", cText(c.At[0]), c.Trusted, l.texts(c.Match))
	case "config":
		return fmt.Sprintf("rules_configured(%s, %s)", cText(c.At[0]), l.texts(c.Match))
	case "size":
		return fmt.Sprintf("rules_larger(%s, %d)", cText(c.At[0]), c.Over)
	case "time":
		return fmt.Sprintf("rules_within(0x%02x, %d, %d, %d)", c.Days, c.From, c.To, c.East)
	case "text":
		return fmt.Sprintf("rules_texts(c, %s, %s)", l.texts(c.At), l.texts(c.Match))
	}
	return l.commands(c.Commands)
}

func (l *cLists) commands(list []rules.OutlineCommand) string {
	var b strings.Builder
	for _, p := range list {
		fmt.Fprintf(&b, "      {%s, %s, %s, %s},\n", cConstant(p.Program), l.list(p.Sub), l.list(p.Flags), l.list(p.Args))
	}
	fmt.Fprintf(&l.declared, "  static const rules_command commands[] = {\n%s  };\n", b.String())
	return fmt.Sprintf("rules_runs(c, commands, %d)", len(list))
}

func cConstant(s string) string { return "BELAY_INIT(" + cLiteral(s) + ")" }

func cText(s string) string { return "BELAY_T(" + cLiteral(s) + ")" }

// cLiteral is a text in quotes. No trigraph stands in it: -std=c11 would replace it.
func cLiteral(s string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		switch {
		case c == '"' || c == '\\' || c == '?':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c == '\n':
			b.WriteString(`\n`)
		case c < 0x20 || c == 0x7f:
			fmt.Fprintf(&b, `\%03o`, c)
		default:
			b.WriteByte(c)
		}
	}
	return `"` + b.String() + `"`
}

func (cDialect) begin(p phases.Phase) string {
	return fmt.Sprintf("\nBELAY_PHASE(%s) {\n  rules_call call = rules_begin(%s), *c = &call;\n", p, cText(string(p)))
}

func (cDialect) answer(r *rules.OutlineRule, name string) string {
	rule, holds := cText(r.Name), name+"(c)"
	switch r.Answer {
	case "block":
		return fmt.Sprintf("  rules_blocks(c, %s, %s, %t, %s);\n", rule, holds, r.DoubtBlocks, cText(r.Reason))
	case "ask":
		return fmt.Sprintf("  rules_asks_for(c, %s, %s, %t, %s);\n", rule, holds, r.DoubtBlocks, cText(r.Reason))
	case "limit":
		return fmt.Sprintf("  rules_limits(c, %s, %s, %t, %t, %s, %s, %d, %d);\n", rule, holds, r.DoubtBlocks, r.Asks,
			cText(r.Reason), cText(r.By), r.Count, r.Window)
	case "require_lease":
		return fmt.Sprintf("  rules_needs_lease(c, %s, %s, %t, %t, %s, %s);\n", rule, holds, r.DoubtBlocks, r.Asks, cText(r.Reason),
			cText(r.Capability))
	case "require_stage":
		var lists cLists
		call := fmt.Sprintf("  rules_needs_stage(c, %s, %s, %t, %t, %s, %s);\n", rule, holds, r.DoubtBlocks, r.Asks, cText(r.Reason),
			lists.texts(r.Stages))
		return "  {\n" + indented(lists.declared.String()+call) + "  }\n"
	case "scopes":
		return fmt.Sprintf("  rules_narrows(c, %s, %s);\n", holds, cText(scopesJSON(r.Scopes)))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "  {\n    rules_holds h = %s;\n", holds)
	for _, v := range r.Values {
		switch r.Answer {
		case "annotate":
			fmt.Fprintf(&b, "    rules_annotates(c, h, %s, %s);\n", cText(v.At), cText(v.JSON))
		case "fix":
			fmt.Fprintf(&b, "    rules_fixes(c, %s, h, %t, %s, %s);\n", rule, r.DoubtBlocks, cText(v.At), cText(v.JSON))
		case "default":
			fmt.Fprintf(&b, "    rules_defaults(c, %s, h, %s, %s);\n", rule, cText(v.At), cText(v.JSON))
		}
	}
	return b.String() + "  }\n"
}

func indented(s string) string {
	return strings.ReplaceAll("  "+strings.TrimSuffix(s, "\n"), "\n", "\n  ") + "\n"
}

func scopesJSON(s *phases.Scopes) string {
	var all []string
	for _, l := range scopeLists(s) {
		all = append(all, quoted(l.name)+":["+joined(l.list, quoted)+"]")
	}
	return "{" + strings.Join(all, ",") + "}"
}

func (cDialect) end() string { return "  return rules_give(c);\n}\n" }

func (cDialect) tail(o *rules.Outline) string {
	var lists cLists
	var b strings.Builder
	for _, p := range valued(o) {
		fmt.Fprintf(&b, "  if (belay_eq(program, %s)) return %s;\n", cText(p.Program), lists.texts(p.Valued))
	}
	return "\n// Flags of a program, before its subcommand, that take the next word.\n" +
		"static rules_list rules_valued(belay_text program) {\n" + lists.declared.String() + b.String() +
		"  (void)program;\n  return (rules_list)RULES_NO_LIST;\n}\n"
}
