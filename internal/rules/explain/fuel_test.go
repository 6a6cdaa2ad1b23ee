package explain_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/internal/loader"
	"github.com/belay-hooks/belay/internal/rig"
	"github.com/belay-hooks/belay/internal/rules"
	"github.com/belay-hooks/belay/phases"
)

// large are arguments of nearly 1 MiB, in forms that are hard to go through, and the tool that takes them.
func large() map[string][2]string {
	const room = 900 << 10
	deep := func(open, inner, shut string, depth int) string {
		return strings.Repeat(open, depth) + inner + strings.Repeat(shut, depth)
	}
	list := func(one string, size int) string { // one, repeated up to a size
		n := max(1, (size-len(one))/(len(one)+1))
		return strings.Repeat(one+",", n) + one
	}
	name := strings.Repeat("n", 2000)
	return map[string][2]string{
		"numbers deep down": {"web_fetch", `{"a":` + deep("[", list("1", room), "]", 100) + `}`},
		"texts below long names": {"web_fetch",
			`{"a":` + deep(`{"`+name+`":`, "["+list(`"x"`, 600<<10)+"]", "}", 100) + `}`},
		"objects beside each other": {"web_fetch", `{"a":[` + list(deep(`{"a":`, "1", "}", 100), room) + `]}`},
		"many names of files":       {"web_fetch", `{"paths":[` + differing(`"/d/%d/x/../y"`, room) + `]}`},
		"a patch":                   {"web_fetch", `{"patch":"` + differing(`--- a/f%d\n`, room) + `"}`},
		"a list of commands":        {"exec", `{"command":[` + differing(`"ls -l /%d"`, room) + `]}`},
		"a tree as the command": {"c",
			`{"command":[[{"env":[` + list(deep(`{"text":[`, `"x",{}`, "]}", 20), room) + `]}]]}`},
		"a patch of empty lines": {"web_fetch", `{"patch":"` + strings.Repeat(`\n`, room/2) + `"}`},
		"nothing but escapes":    {"web_fetch", `{"file_path":"` + strings.Repeat(`\u0041`, room/6) + `"}`},
		"quotes":                 {"web_fetch", `{"note":"` + strings.Repeat(`\"`, room/2) + `"}`},
		"texts deep down":        {"web_fetch", `{"a":` + deep("[", list(`"x"`, room), "]", 100) + `}`},
		"texts in short arrays":  {"web_fetch", `{"a":[` + list(`["x"]`, room) + `]}`},
		"nothing but arrays":     {"web_fetch", `{"a":[` + list(`[[1]]`, room) + `]}`},
		"addresses in one text":  {"web_fetch", `{"note":"` + differing(`http://h%d `, room) + `"}`},
		"texts to replace": {"c",
			`{"command":[[` + deep(`{"description":[[`, list(`{"args":"password=hunter2"}`, 100<<10), "]]}", 12) + `]]}`},
		"many addresses": {"web_fetch", `{"urls":[` + differing(`"http://h%d.example/x"`, room) + `]}`},
		"long paths": {"web_fetch",
			`{"paths":[` + list(`"`+strings.Repeat("d/", 1500)+`"`, room) + `]}`},
		"many long paths": {"web_fetch",
			`{"paths":[` + differing(`"`+strings.Repeat("d/", 400)+`%d"`, room) + `]}`},
		"many words with patterns": {"exec", `{"command":"cat ` + differing(`*a%d*b `, 60<<10) + `"}`},
		"many commands":            {"exec", `{"command":"` + differing(`rm -r /a%d;`, 60<<10) + `"}`},
		"many parts of words":      {"exec", `{"command":"cat ` + differing(`%d:`, 60<<10) + `"}`},
		"many directories":         {"exec", `{"command":"` + differing(`cd /d%d;ls x;`, 60<<10) + `"}`},
		"many long commands": {"run_it",
			`{"steps":[` + list(`{"command":"`+differing(`rm -r /a%d;`, 60<<10)+`"}`, room) + `]}`},
		"many long programs": {"run_it",
			`{"steps":[` + list(`{"command":"`+differing(`python3 -c 'x%d';`, 60<<10)+`"}`, room) + `]}`},
	}
}

// differing is as many of a form with a number as there is room for.
func differing(form string, room int) string {
	var b strings.Builder
	for i := 0; b.Len() < room-len(form); i++ {
		if i > 0 && strings.HasPrefix(form, `"`) {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, form, i)
	}
	return b.String()
}

// Whatever an input of the largest size looks like, rules of every kind come to a decision about it.
func TestLargeInputs(t *testing.T) {
	w := open(t)
	bench, err := loader.OpenBench(loader.BenchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { bench.Close() })
	for file, part := range map[string]rules.Part{"every-kind": rules.Judges, "every-change": rules.Changes} {
		src, err := os.ReadFile("testdata/" + file + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		module, err := rules.Compile(file+".yaml", src, w.engine, part)
		if err != nil {
			t.Fatal(err)
		}
		r := rigOf(t, bench, module)
		for what, call := range large() {
			if len(call[1]) > phases.MaxInputBytes-4096 {
				t.Fatalf("%s: %d bytes", what, len(call[1]))
			}
			v, err := r.Decide(context.Background(), rig.Case{Invocation: tool(call[0], call[1])})
			t.Logf("%-12s %-26s %11d fuel %4d calls %5d KiB %s %s", file, what, v.Hooks[0].Fuel,
				v.Hooks[0].Hostcalls, v.Hooks[0].MemoryPeak>>10, v.Decision,
				phases.SafeLine(v.Reason, 90))
			if err != nil || v.Decision == phases.Block && v.Kind != phases.KindPolicy {
				t.Errorf("%s: %s: %s (%s) %v", file, what, v.Decision, v.Reason, err)
			}
		}
	}
}
