package shell

import (
	"slices"
	"testing"
)

// TestRecipes: what a tool runs of a file that the same text has written is told, and nothing of one that the tool does
// not look into.
func TestRecipes(t *testing.T) {
	for _, c := range []struct {
		name, text string
		runs       []string // what is told of rm
	}{
		{"a script of package.json, and what is run before it",
			`echo '{"scripts":{"go":"rm a","prego":"rm b","x":"rm c"}}' > package.json && npm run go`, []string{"rm a", "rm b"}},
		{"another script", `echo '{"scripts":{"go":"rm a"}}' > package.json && npm run x`, nil},
		{"a script that runs another", `echo '{"scripts":{"a":"npm run b","b":"rm x"}}' > package.json && npm run a`,
			[]string{"rm x"}},
		{"a script that runs itself", `echo '{"scripts":{"a":"rm x; npm run a"}}' > package.json && npm run a`, []string{"rm x"}},
		{"npm test", `echo '{"scripts":{"test":"rm a"}}' > package.json; npm t`, []string{"rm a"}},
		{"an installation", `echo '{"scripts":{"postinstall":"rm a"}}' > package.json; yarn`, []string{"rm a"}},
		{"yarn and a name", `echo '{"scripts":{"go":"rm a"}}' > package.json; yarn go`, []string{"rm a"}},
		{"node --run", `echo '{"scripts":{"go":"rm a"}}' > package.json; node --run go`, []string{"rm a"}},
		{"several by a pattern", `echo '{"scripts":{"b:a":"rm a","b:b":"rm b"}}' > package.json; run-s 'b:*'`,
			[]string{"rm a", "rm b"}},
		{"in another directory", `mkdir d; echo '{"scripts":{"go":"rm a"}}' > d/package.json; cd d && npm run go`,
			[]string{"rm a"}},
		{"no document", `echo 'x' > package.json; npm run go`, nil},
		{"composer", `echo '{"scripts":{"go":["rm a","rm b"]}}' > composer.json; composer run-script go`,
			[]string{"rm a", "rm b"}},
		{"a task of deno", `echo '{"tasks":{"go":{"command":"rm a"}}}' > deno.json; deno task go`, []string{"rm a"}},
		{"a justfile: the first recipe, and what it needs", "printf 'a: b\\n  rm a\\nb:\\n  @rm b\\nc:\\n  rm c\\n' > justfile; just",
			[]string{"rm a", "rm b"}},
		{"a recipe that is named", "printf 'a:\\n  rm a\\nc:\\n  rm c\\n' > justfile; just c", []string{"rm c"}},
		{".envrc", "cat > .envrc <<'E'\nrm a\nE\ndirenv allow", []string{"rm a"}},
		{".envrc that is shown", "echo 'rm a' > .envrc; direnv status", nil},
		{"a Procfile", "echo 'web: rm a' > Procfile; foreman start", []string{"rm a"}},
		{"a unit", "printf '[Service]\\nExecStart=-/bin/rm a\\n' > ~/.config/systemd/user/x.service; systemctl --user start x",
			[]string{"rm a"}},
		{"a unit that is listed", "echo 'ExecStart=rm a' > x.service; systemctl status x", nil},
		{"a Taskfile", "printf 'tasks:\\n  a:\\n    cmds:\\n      - rm a\\n      - cmd: rm b\\n' > Taskfile.yml; task a",
			[]string{"rm a", "rm b"}},
		{"lefthook", "printf 'pre-commit:\\n  jobs:\\n    - run: |\\n        rm a\\n' > lefthook.yml; lefthook run pre-commit",
			[]string{"rm a"}},
		{"a task of mise", "printf '[tasks.a]\\nrun = \"rm a\"\\n' > mise.toml; mise run a", []string{"rm a"}},
		{"a hook", "printf '#!/bin/sh\\nrm a\\n' > .git/hooks/pre-commit; git commit -m x", []string{"rm a"}},
		{"a hook of another verb", "echo 'rm a' > .git/hooks/pre-push; git commit -m x", nil},
		{"a hook where the text says", "echo 'rm a' > h/pre-push; git config core.hooksPath h; git push", []string{"rm a"}},
		{"a hook where the option says", "echo 'rm a' > h/post-merge; git -c core.hooksPath=h merge x", []string{"rm a"}},
		{"a hook of husky", "echo 'rm a' > .husky/pre-commit; git commit", []string{"rm a"}},
		{"a file of that name elsewhere", "echo 'rm a' > notes/pre-commit; git commit", nil},
		{"a shell that waits for what is written", "mkfifo p; sh < p & echo 'rm a' > p", []string{"rm a"}},
		{"what install makes of its input", "echo 'rm a' | install -m 755 /dev/stdin t; ./t", []string{"rm a"}},
	} {
		r, _ := Parse(c.text)
		if !r.OK {
			t.Errorf("%s: %s", c.name, r.Error)
		}
		var got []string
		for _, x := range r.Commands {
			if x.Name == "rm" {
				got = append(got, "rm "+x.Words[len(x.Words)-1].Text)
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, c.runs) {
			t.Errorf("%s: %q, want %q", c.name, got, c.runs)
		}
	}
}

// TestFleets: programs that run a command in many places, for each line, or each time that a file changes.
func TestFleets(t *testing.T) {
	for _, text := range []string{
		"mani exec --all 'rm x'", "meta exec 'rm x'", "mr -d d run rm x", "repo forall -p -c 'rm x'", "gita shell all 'rm x'",
		"gita shell rm x", "mu sh rm x", "bolt command run 'rm x' -t web", "knife ssh 'role:web' 'rm x'",
		"onchange -i 'src/**' -- rm x", "reflex -r '\\.go$' -- rm x", "when-changed a.py -c rm x", "when-changed a.py rm x",
		"watchman-make -p '*.c' --run 'rm x'", "rerun rm x", "viddy -n 1 rm x", "mprocs 'npm start' 'rm x'", "nq -c rm x",
		"minijail0 -u nobody rm x", "nsjail -Mo --chroot / -- rm x", "pueue add -- rm x", "scp -S 'rm x' a b:",
		"gnome-session-inhibit --reason r rm x", "rm${IFS}x",
	} {
		r, _ := Parse(text)
		if !slices.ContainsFunc(r.Commands, func(c Command) bool { return c.Name == "rm" && len(c.Words) > 1 }) {
			t.Errorf("%s: told is %v", text, r.Commands)
		}
	}
	for _, text := range []string{"mani list projects", "repo status", "pueue log", "bolt task show", "gita ls"} {
		if r, _ := Parse(text); len(r.Commands) != 1 || len(r.Unknown) > 0 {
			t.Errorf("%s: told is %v", text, r.Commands)
		}
	}
}
