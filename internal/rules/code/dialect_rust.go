package code

import (
	"fmt"
	"strings"

	"github.com/belay-hooks/belay/internal/rules"
	"github.com/belay-hooks/belay/phases"
)

type rustDialect struct{}

func (rustDialect) template() string { return "rust/rules.rs.tmpl" }
func (rustDialect) main() string     { return "src/lib.rs" }
func (rustDialect) rules() string    { return "src/rules.rs" }
func (rustDialect) describes() string {
	return "`src/lib.rs`: the rules, a function each; `src/rules.rs`: what they can ask and answer"
}

func (rustDialect) head(o *rules.Outline, file string) string {
	var b strings.Builder
	pattern := ""
	if about(o, "command") {
		pattern = ", Pattern"
	}
	fmt.Fprintf(&b, "//! Decides what the rules of %s say.\n\nmod rules;\n\nuse belay_hook as hook;\n", file)
	fmt.Fprintf(&b, "use rules::{Call, Holds%s, Read};\n", pattern)
	b.WriteString("\nhook::export!(\n")
	for _, p := range o.Manifest.Phases {
		fmt.Fprintf(&b, "    %s => %s,\n", p, p)
	}
	b.WriteString(");\n")
	return b.String()
}

func (rustDialect) rule(r *rules.OutlineRule, name, file string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n/// %s\nfn %s(c: &mut Call) -> Read<Holds> {\n    let mut h = c.rule();\n", said(r, file), name)
	for i := range r.When {
		form := "    if !h.and(%s?) {\n        return Ok(h);\n    }\n"
		if last(r, i) {
			form = "    h.and(%s?);\n"
		}
		fmt.Fprintf(&b, form, rustCondition(&r.When[i]))
	}
	if len(r.Unless) > 0 {
		var all []string
		for i := range r.Unless {
			all = append(all, rustCondition(&r.Unless[i])+"?.yes()")
		}
		fmt.Fprintf(&b, "    // unless\n    if %s {\n        return Ok(Holds::of(false));\n    }\n", strings.Join(all, "\n        && "))
	}
	if len(r.When) == 0 {
		return strings.Replace(b.String(), "let mut h", "let h", 1) + "    Ok(h)\n}\n"
	}
	return b.String() + "    Ok(h)\n}\n"
}

func rustCondition(c *rules.Condition) string {
	if at, ok := namedAt(c.Is); ok {
		return fmt.Sprintf("c.named(%s, &[%s])", rustText(at), rustTexts(c.Match))
	}
	switch c.Is {
	case "tool":
		return fmt.Sprintf("c.tool(&[%s])", rustTexts(c.Match))
	case "mcp_server":
		return fmt.Sprintf("c.server(&[%s])", rustTexts(c.Match))
	case "branch", "repository":
		return fmt.Sprintf("c.claimed(%s, &[%s])", rustText(c.Is), rustTexts(c.Match))
	case "annotation":
		return fmt.Sprintf("c.annotated(%s, %t, &[%s])", rustText(c.At[0]), c.Trusted, rustTexts(c.Match))
	case "config":
		return fmt.Sprintf("c.configured(%s, &[%s])", rustText(c.At[0]), rustTexts(c.Match))
	case "size":
		return fmt.Sprintf("c.larger(%s, %d)", rustText(c.At[0]), c.Over)
	case "time":
		return fmt.Sprintf("c.within(0b%07b, %d, %d, %d)", c.Days, c.From, c.To, c.East)
	case "text":
		return fmt.Sprintf("c.texts(&[%s], &[%s])", rustTexts(c.At), rustTexts(c.Match))
	}
	var b strings.Builder
	b.WriteString("c.runs(&[\n")
	for _, p := range c.Commands {
		fmt.Fprintf(&b, "        Pattern { program: %s, sub: &[%s], flags: &[%s], args: &[%s] },\n",
			rustText(p.Program), rustTexts(p.Sub), rustTexts(p.Flags), rustTexts(p.Args))
	}
	return b.String() + "    ])"
}

func rustTexts(list []string) string { return joined(list, rustText) }

func rustText(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r < 0x20 || r >= 0x7f:
			fmt.Fprintf(&b, `\u{%x}`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String() + `"`
}

func (rustDialect) begin(p phases.Phase) string {
	return fmt.Sprintf("\nfn %s() -> hook::Result {\n    let mut c = Call::new(%s);\n", p, rustText(string(p)))
}

func (rustDialect) answer(r *rules.OutlineRule, name string) string {
	rule := rustText(r.Name)
	var call string
	switch r.Answer {
	case "block":
		call = fmt.Sprintf("blocks(%s, h, %t, %s)", rule, r.DoubtBlocks, rustText(r.Reason))
	case "ask":
		call = fmt.Sprintf("asks_for(%s, h, %t, %s)", rule, r.DoubtBlocks, rustText(r.Reason))
	case "limit":
		call = fmt.Sprintf("limits(%s, h, %t, %t, %s, %s, %d, %d)?", rule, r.DoubtBlocks, r.Asks, rustText(r.Reason),
			rustText(r.By), r.Count, r.Window)
	case "require_lease":
		call = fmt.Sprintf("needs_lease(%s, h, %t, %t, %s, %s)", rule, r.DoubtBlocks, r.Asks, rustText(r.Reason),
			rustText(r.Capability))
	case "require_stage":
		call = fmt.Sprintf("needs_stage(%s, h, %t, %t, %s, &[%s])", rule, r.DoubtBlocks, r.Asks, rustText(r.Reason),
			rustTexts(r.Stages))
	case "annotate":
		call = fmt.Sprintf("annotates(h, &[%s])", rustValues(r.Values))
	case "fix":
		call = fmt.Sprintf("fixes(%s, h, %t, &[%s])", rule, r.DoubtBlocks, rustValues(r.Values))
	case "default":
		call = fmt.Sprintf("defaults(%s, h, &[%s])", rule, rustValues(r.Values))
	default:
		var set []string
		for _, l := range scopeLists(r.Scopes) {
			set = append(set, fmt.Sprintf("%s: Some([%s].iter().map(|s: &&str| s.to_string()).collect())", l.name, rustTexts(l.list)))
		}
		if len(set) < 4 {
			set = append(set, "..hook::Scopes::default()")
		}
		call = fmt.Sprintf("narrows(h, hook::Scopes { %s })", strings.Join(set, ", "))
	}
	return fmt.Sprintf("    let h = %s(&mut c)?;\n    c.%s;\n", name, call)
}

func rustValues(list []rules.OutlineValue) string {
	return joined(list, func(v rules.OutlineValue) string { return "(" + rustText(v.At) + ", " + rustText(v.JSON) + ")" })
}

func (rustDialect) end() string { return "    c.give()\n}\n" }

func (rustDialect) tail(o *rules.Outline) string {
	var b strings.Builder
	b.WriteString("\n/// Flags of a program, before its subcommand, that take the next word.\n")
	b.WriteString("fn valued(program: &str) -> &'static [&'static str] {\n    match program {\n")
	for _, p := range valued(o) {
		fmt.Fprintf(&b, "        %s => &[%s],\n", rustText(p.Program), rustTexts(p.Valued))
	}
	return b.String() + "        _ => &[],\n    }\n}\n"
}
