package shell

import (
	"strings"
	"testing"
)

// TestNothingToRun: a command that expands to nothing runs no program, but the shell assigns and redirects.
func TestNothingToRun(t *testing.T) {
	checkRows(t, []row{
		{"nothing at all", `a=; $a; rm x`, []string{"rm x"}},
		{"it redirects", `a=; $a > /etc/passwd`, []string{":"}},
		{"it assigns", `a=; b=/ $a; rm $b`, []string{"rm /"}},
		{"a substitution runs", `a=; b=$(rm x) $a`, []string{"rm x"}},
		{"what may be nothing is told", `b=/ $X; rm "$b"`, []string{"$X? …", "rm $b?", "unknown name"}},
	})
	r, _ := Parse(`a=; $a > /etc/passwd`)
	if x := r.Commands[0].Redirects; len(x) != 1 || x[0].Target.Text != "/etc/passwd" {
		t.Errorf("%+v", x)
	}
}

// TestTextsThatAreHandedOn: what a shell gets of a here-document, a here-string or a pipeline.
func TestTextsThatAreHandedOn(t *testing.T) {
	checkRows(t, []row{
		{"a quoted delimiter keeps backslashes", "sh <<'E'\nrm 'a\\\\b' '\\$X'\nE", []string{"sh", `stdin> rm a\\b \$X`}},
		{"another one does not", "sh <<E\nrm 'a\\\\b' '\\$X'\nE", []string{"sh", `stdin> rm a\b $X`}},
		{"a pattern is text until the shell reads it", "sh <<E\nls *\nE", []string{"sh", "stdin> ls *(glob)"}},
		{"so is a tilde", "sh <<< '~/x'", []string{"sh", "stdin> ~/x(home)"}},
		{"to one that reads -", `echo 'rm x' | sh -`, []string{"echo rm x", "sh -", "stdin> rm x"}},
		{"xargs may add a script behind -", `xargs sh -`, []string{"xargs sh -", "xargs> sh - …", "unknown code"}},
		{"xargs hands on no pattern", `echo '*' | xargs rm`, []string{"echo *", "xargs rm", "xargs> rm *"}},
		{"tr repeats its last character", `echo abc | tr abc xy | sh`, []string{"echo abc", "tr abc xy", "sh", "stdin> xyy"}},
		{"tr with a range of 256", `echo a | tr a-š x | sh`, []string{"echo a", "tr a-š x", "sh", "unknown code"}},
		{"tr with a range of 255", `echo a | tr a-Š x | sh`, []string{"echo a", "tr a-Š x", "sh", "stdin> x"}},
		{"cd - prints where it goes", `rm "$(cd - && echo y)"`, []string{"cd -", "echo y", "rm $(cd - && echo y)?"}},
		{"printf into a variable", `a=1; printf -v a x; rm $a`, []string{"printf -v a x", "rm $a? …"}},
	})
}

// TestOtherHosts: the words behind a host go to a shell there, which may also read what to do.
func TestOtherHosts(t *testing.T) {
	for _, c := range []struct {
		command string
		reads   bool
	}{{"ssh host", true}, {"mosh host", true}, {"autossh -M 0 host", true}, {"ssh -p 22 -l me -o A=b host", true},
		{"pdsh -w host", false}} {
		name := strings.Fields(c.command)[0]
		checkRows(t, []row{
			{"several commands", c.command + ` 'rm x; rm y'`,
				[]string{c.command + " rm x; rm y", name + "> rm x", name + "> rm y"}},
			{"the words are joined", c.command + ` rm 'x; rm' y`,
				[]string{c.command + " rm x; rm y", name + "> rm x", name + "> rm y"}},
		})
		r, _ := Parse(c.command + " rm x")
		if last := r.Commands[len(r.Commands)-1]; !last.Remote || last.CWD == nil || last.CWD.Known {
			t.Errorf("%s: %+v", c.command, last)
		}
		want := []string{"echo rm x", c.command}
		if c.reads {
			want = append(want, name+"> rm x")
		}
		checkRows(t, []row{{"what it reads", "echo 'rm x' | " + c.command, want}})
	}
}

// TestOptionsAtTheEnd: an option whose value, or whose command, is missing hands on nothing.
func TestOptionsAtTheEnd(t *testing.T) {
	for _, text := range []string{
		"fd a -x", "fd a --exec-batch", "find . -exec", "git submodule foreach --recursive", "git submodule foreach",
		"git -C", "git rebase -x", "git rebase --exec", "git bisect run",
		"docker run -d", "docker exec -it", "docker run --entrypoint", "docker run", "docker exec c", "kubectl exec p --",
		"screen -dmS", "screen -dm", "screen -dmS n", "tar --to-command", "tar x --checkpoint-action", "rsync -e",
		"tmux new -s",
		"sudo -s --", "sudo -u", "env -S", "su -c", "flock -c", "npx -c", "xargs -I", "ssh", "ssh -p", "nice -n", "timeout 5",
		"chroot /x", "man -P", "vagrant -c", "nix-shell --run", "script -c", "bash -c", "bash -o", "trap", "trap x", "eval",
		"cd", "set", "shift", "read", "let",
	} {
		r, _ := Parse(text)
		if !r.OK || r.Truncated {
			t.Errorf("%s: %s", text, r.Error)
		}
		for _, c := range r.Commands[1:] {
			if c.Name != "" || len(c.Words) != 1 || c.Words[0].Text != "" {
				t.Errorf("%s: it hands on %s", text, told(c))
			}
		}
	}
}

// TestNothingIsToldPastALimit: behind the last command that is told, nothing is walked either.
func TestNothingIsToldPastALimit(t *testing.T) {
	r, _ := Parse(strings.Repeat("a\n", MaxCommands) + `bash -c "$X"; $Y; source f`)
	if len(r.Commands) != MaxCommands || len(r.Unknown) != 0 || !r.Truncated {
		t.Errorf("%d commands, unknown %+v, truncated %v", len(r.Commands), r.Unknown, r.Truncated)
	}
}
