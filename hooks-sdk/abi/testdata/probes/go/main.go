// Command probe uses every wrapper of the SDK once and reports what it saw. The
// probes in C and Rust do the same.
package main

import hook "github.com/belay-hooks/belay/hooks-sdk/go"

func main() {}

func flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

//go:wasmexport pre_tool
func preTool() int32 {
	shell, err := hook.ShellParse(hook.Text("/args/command"))
	if err != nil {
		return hook.FailError(err)
	}
	matches, err := hook.MatchRE2([]string{"^z", "b+"}, []string{"abbc"})
	if err != nil {
		return hook.FailError(err)
	}
	secrets, _, err := hook.FindSecrets(hook.Text("/args/secret"))
	if err != nil {
		return hook.FailError(err)
	}
	paths, err := hook.PathResolve("/w/a", "../x")
	if err != nil {
		return hook.FailError(err)
	}
	before, err := hook.StateGet("probe")
	if err == hook.Absent {
		before = "none"
	}
	if err := hook.StatePut("probe", "seen"); err != nil {
		return hook.FailError(err)
	}
	after, _ := hook.StateGet("probe")
	var random [3]byte
	if err := hook.Random(random[:]); err != nil {
		return hook.FailError(err)
	}
	_, found := hook.Get("/args/none")
	_, text := hook.LookupText("/args/n")
	n, _ := hook.Int("/args/n")
	fraction, ok := hook.Int("/args/a/1")
	if !ok {
		fraction = -1
	}
	pointed, _ := hook.Get(hook.Pointer("args", "o", "a/b"))
	raw, _ := hook.Get("/args/a")

	var w hook.Writer
	w.Begin('{').Key("text").Text(hook.Text("/args/s")).Key("long").Int(int64(len(hook.Text("/args/long"))))
	w.Key("absent").Int(flag(!found)).Key("not_text").Int(flag(!text))
	w.Key("kinds").Begin('[')
	for _, name := range []string{"n", "b", "z", "a", "o", "s"} {
		w.Int(int64(hook.KindOf("/args/" + name)))
	}
	w.End(']').Key("keys").Texts(hook.Keys("/args/o"))
	w.Key("len").Int(int64(hook.Len("/args/a"))).Key("int").Int(n).Key("fraction").Int(fraction)
	w.Key("pointer").Text(pointed).Key("raw").Text(raw)
	w.Key("config").Int(hook.ConfigInt("/n", 7)).Key("config_default").Int(hook.ConfigInt("/none", 7))
	w.Key("config_bool").Int(flag(hook.ConfigBool("/on", false))).Key("config_text").Text(hook.ConfigText("/t", ""))
	w.Key("shell").Begin('[')
	for _, c := range shell.Commands {
		w.Text(c.Name)
	}
	w.End(']').Key("word").Text(shell.Commands[len(shell.Commands)-1].Words[1].Text).Key("shell_ok").Int(flag(shell.OK))
	w.Key("match").Int(int64(matches[0].End)).Key("secret").Text(secrets[0].Kind).Key("path").Text(paths[0].Path)
	w.Key("state").Text(before).Key("put").Int(0).Key("state_after").Text(after).Key("time").Int(hook.TimeNow())
	w.Key("random").Int(int64(random[0])<<16 | int64(random[1])<<8 | int64(random[2])).End('}')

	hook.Log(hook.Info, "probe")
	hook.RewriteText("/args/report", w.String())
	hook.RewriteJSON("/args/n", "[1,2]")
	hook.Remove("/args/z")
	hook.Redact("/args/b", "flag")
	hook.AnnotateText("k", "v\n")
	hook.AddContext("context")
	hook.ClampScopes(hook.Scopes{FSRead: []string{"/w/**"}, Net: []string{}})
	hook.Ask("why \"now\"?", 60)
	return hook.OK
}

//go:wasmexport post_receive
func postReceive() int32 {
	hook.Retry("again", 2)
	hook.PutArtifact(hook.Artifact{Name: "a.txt", MediaType: "text/plain", Text: "one\ttwo\x01"})
	return hook.OK
}

//go:wasmexport pre_plan
func prePlan() int32 {
	hook.Reply("no model needed")
	return hook.OK
}

//go:wasmexport spawn
func spawn() int32 {
	hook.Block("dropped")
	return hook.Fail("on purpose")
}
