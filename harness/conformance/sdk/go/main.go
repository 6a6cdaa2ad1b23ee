// Command sdk does what /args/do says, by the Go SDK. The hooks in C and Rust do the same; see ../../behaviours.yaml.
package main

import (
	"errors"
	"strconv"
	"strings"

	hook "github.com/belay-hooks/belay/hooks-sdk/go"
)

func main() {}

func say(n int64) { hook.Log(hook.Info, strconv.FormatInt(n, 10)) }

//go:wasmexport pre_tool
func preTool() int32 {
	switch hook.Text("/args/do") {
	case "block":
		hook.Block("no")
	case "fail":
		hook.Block("dropped")
		return hook.Fail("on purpose")
	case "ask":
		hook.Ask("why \"now\"?", 60)
	case "rewrite":
		hook.RewriteText("/args/a", "x\n")
		hook.RewriteJSON("/args/b", "[1]")
		hook.Remove("/args/c")
	case "redact":
		hook.Redact("/args/a", "label")
	case "annotate":
		hook.AnnotateText("k", "v\n")
	case "context":
		hook.AddContext("text")
	case "clamp":
		hook.ClampScopes(hook.Scopes{FSRead: []string{"/w/**"}, Net: []string{}})
	case "read":
		hook.Log(hook.Info, hook.Text("/args/s"))
	case "long":
		say(int64(len(hook.Text("/args/s"))))
	case "absent":
		if _, ok := hook.Get("/args/none"); !ok {
			hook.Log(hook.Info, "absent")
		}
	case "config":
		hook.Log(hook.Info, hook.ConfigText("/t", ""))
	case "state":
		v, err := hook.StateGet("k")
		if err != nil {
			return hook.FailError(err)
		}
		hook.Log(hook.Info, v)
		if err := hook.StatePut("k", "new"); err != nil {
			return hook.FailError(err)
		}
	case "time":
		say(hook.TimeNow())
	case "random":
		var b [2]byte
		if err := hook.Random(b[:]); err != nil {
			return hook.FailError(err)
		}
		say(int64(b[0]))
		say(int64(b[1]))
	case "call":
		reply, err := hook.RequestToolCall(`{"tool":"t"}`)
		var refused *hook.Refused
		if errors.As(err, &refused) {
			hook.Log(hook.Info, refused.Document)
			return hook.FailError(err)
		}
		hook.Log(hook.Info, reply)
	case "shell":
		shell, err := hook.ShellParse(hook.Text("/args/command"))
		if err != nil {
			return hook.FailError(err)
		}
		for _, c := range shell.Commands {
			hook.Log(hook.Info, commandText(c))
		}
		for _, u := range shell.Unknown {
			hook.Log(hook.Info, line(u.What, u.Raw, strconv.Itoa(u.Command), flags("p", u.Partial)))
		}
		for _, p := range shell.UnknownPrograms {
			hook.Log(hook.Info, line(p.Language, p.Text, p.File, p.Raw, strconv.Itoa(p.Command), flags("p", p.Partial)))
		}
	case "panic":
		panic("on purpose")
	case "refused":
		hook.RewriteJSON("/args/no/parent", "1")
	}
	return hook.OK
}

func line(parts ...string) string { return strings.Join(parts, "|") }

// flags keeps the letters whose value is true.
func flags(letters string, set ...bool) string {
	out := ""
	for i, on := range set {
		if on {
			out += letters[i : i+1]
		}
	}
	return out
}

func wordText(w hook.Word) string {
	out := w.Text + ":" + flags("kgt", w.Known, w.Glob, w.Tilde)
	for _, n := range w.From {
		out += strconv.Itoa(n)
	}
	return out
}

func commandText(c hook.Command) string {
	var words, assigns, redirects []string
	for _, w := range c.Words {
		words = append(words, wordText(w))
	}
	for _, a := range c.Assigns {
		assigns = append(assigns, a.Name+"="+wordText(a.Value))
	}
	for _, r := range c.Redirects {
		redirects = append(redirects, strconv.FormatInt(r.FD, 10)+r.Op+wordText(r.Target))
	}
	stdin, cwd := "", c.CWD
	if c.Stdin != nil {
		stdin = wordText(*c.Stdin)
	}
	if cwd != "" {
		cwd += ":" + flags("k", !c.CWDUnknown)
	}
	return line(c.Name, c.Raw, strings.Join(words, " "), strings.Join(assigns, " "), strings.Join(redirects, " "),
		strings.Join(c.Via, " "), strings.Join(c.Context, " "), stdin, cwd,
		strconv.Itoa(c.Pipe), strconv.Itoa(c.StdinFrom), strconv.Itoa(c.Parent),
		flags("frmo", c.Function, c.Recursive, c.Remote, c.ArgsOpen))
}
