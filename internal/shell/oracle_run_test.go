package shell

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestBashRunsWhatIsTold runs texts in which a probe stands for the command that a wrapper, a builtin, a variable or
// a substitution hands on. What the probe is called with is what the parser tells, or something is not known.
func TestBashRunsWhatIsTold(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	// It is no bash, which would read BASH_ENV itself.
	script := "#!/bin/sh\nprintf '%s\\n' \"probe${*:+ }$*\" >> \"$PROBED\"\n"
	if err := os.WriteFile(filepath.Join(bin, "probe"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, c := range []struct{ program, text string }{
		{"env", "env probe x"}, {"env", "env -S 'probe x' y"}, {"env", "env -S '-u A probe x'"}, {"env", "env " +
			"-vS 'probe -f x'"}, {"env", "env --split-string='A=1 probe x'"},
		{"env", `env -S '-u A sh -c "probe x"'`}, {"env", "env --unset=A --chdir=/ probe x"}, {"env", "env --uns " +
			"A probe x"},
		{"nice", "nice -n 1 probe x"}, {"nice", "nice -1 probe x"}, {"nice", "nice --adj 1 probe x"},
		{"nohup", "nohup probe x"}, {"timeout", "timeout -k 3 5 probe x"}, {"timeout", "timeout --sig=9 5 probe x"},
		{"stdbuf", "stdbuf -oL -e 0 probe x"}, {"ionice", "ionice -c 3 probe x"}, {"ionice", "ionice -c3 -t probe x"},
		{"flock", "flock -n lock probe x"}, {"flock", "flock lock -c 'probe x; probe y'"}, {"setarch", "setarch " +
			"-R probe x"},
		{"taskset", "taskset 1 probe x"}, {"chrt", "chrt -o 0 probe x"}, {"setpriv", "setpriv --no-new-privs " +
			"probe x"},
		{"prlimit", "prlimit --nofile=100 probe x"}, {"setsid", "setsid -w probe x"},
		{"xargs", "echo a b | xargs probe"}, {"xargs", "echo a b | xargs -n 2 probe x"}, {"xargs", "echo a | " +
			"xargs -I{} probe {}x"},
		{"xargs", "echo a | xargs -i sh -c 'probe {}'"}, {"find", "find . -maxdepth 0 -exec probe x ';'"},
		{"find", `find . -maxdepth 0 -name '-exec' -o -exec probe y \;`}, {"script", "script -qec 'probe x' " +
			"/dev/null"}, {"split", "echo x | split --filter='probe x' -"},
		{"tar", "tar cf /dev/null --checkpoint=1 --checkpoint-action=exec='probe x' " + bin},
		{"sed", "echo a | sed '1e probe x'"}, {"sed", "echo a | sed -n 's/a/b/;e probe y'"},
		{"sed", "echo a | sed -e 's/[/]e/x/' -e '/a/{e probe z\n}'"},
		{"git", "git -c alias.x='!probe' x y"}, {"git", "git -c alias.x='!probe a' x 'b c'"},
		{"git", "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=alias.z GIT_CONFIG_VALUE_0='!probe q' git z"},
		{"git", "git -c core.sshCommand='probe x;false' ls-remote h:r; true"},
		{"bash", "BASH_ENV='$(probe x)' bash -c :"}, {"bash", "bash -c -- 'probe x'"}, {"bash", "bash -o errexit " +
			"-c 'probe x'"},
		{"bash", "env 'BASH_FUNC_f%%=() { probe x; }' bash -c f"}, {"bash", "PROMPT_COMMAND='probe x' bash " +
			"--norc -i <<< : 2>&1"},
		{"bash", "ENV='$(probe x)' sh -i <<< : 2>&1"},
		{"bash", "exec -a n probe x"}, {"bash", "command -p -- env probe x"},
		{"bash", "builtin eval 'probe x'"}, {"bash", "eval -- 'probe x'"}, {"bash", "trap -- 'probe x' EXIT"},
		{"bash", "x='$(probe x)'; echo \"${x@P}\""}, {"bash", "x='`probe x`'; : ${x@P}"},
		{"bash", "PS4='$(probe x)'; set -x; true"}, {"bash", "shopt -s expand_aliases\nalias r='probe a'\nr b"},
		{"bash", "hash -p " + filepath.Join(bin, "probe") + " nosuch; nosuch x"}, {"bash", "coproc probe x; wait"},
		{"bash", "coproc N { probe x; }; wait"}, {"bash", "echo 'probe x' > >(sh); sleep 0.2"},
		{"bash", "echo 'probe x' | tee >(sh) > /dev/null; sleep 0.2"}, {"bash", "source <(echo 'probe x')"},
		{"bash", "bash <(echo 'probe x')"}, {"bash", "sh < <(echo 'probe x')"}, {"bash", ". /dev/stdin <<< " +
			"'probe x'"},
		{"bash", "printf 'a\\n' | mapfile -C 'probe x' -c 1 a"}, {"bash", "compgen -C 'probe x' a > /dev/null; true"},
		{"bash", "e='probe x'; $e"}, {"bash", "a=(env probe); \"${a[@]}\" x"}, {"bash", "w=nice; $w probe x"},
		{"bash", "echo 'probe \\! x' | sh"}, {"awk", "awk 'BEGIN{system(\"probe x\")}'"},
		{"perl", "perl -e 'system(\"probe x\")'"}, {"python3", "python3 -c 'import os; os.system(\"probe x\")'"},
		{"python3", "python3 <<< 'import os; os.system(\"probe x\")'"}, {"perl", "echo 'system(\"probe x\")' | perl"},
	} {
		if _, err := exec.LookPath(c.program); err != nil {
			continue
		}
		ran++
		text := c.text
		log := filepath.Join(t.TempDir(), "probed")
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		cmd := exec.CommandContext(ctx, bash, "-c", text)
		cmd.Dir = t.TempDir()
		cmd.Env = []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "PROBED=" + log, "HOME=" + cmd.Dir, "LC_ALL=C"}
		cmd.WaitDelay = time.Second
		out, runErr := cmd.CombinedOutput()
		cancel()
		probed, err := os.ReadFile(log)
		if err != nil {
			t.Logf("%s: bash runs no probe here (%v): %.200s", text, runErr, out)
			ran--
			continue
		}
		reply, _ := Parse(text)
		var told []string
		open := len(reply.Unknown)+len(reply.UnknownPrograms) > 0
		for _, cmd := range reply.Commands {
			if cmd.Name == "probe" {
				told = append(told, strings.Join(append([]string{"probe"}, texts(cmd.Words[1:])...), " "))
				open = open || cmd.ArgsOpen
			}
		}
		for line := range strings.Lines(string(probed)) {
			line = strings.TrimSuffix(line, "\n")
			is := func(s string) bool { return s == line || open && strings.HasPrefix(line, s) }
			if !slices.ContainsFunc(told, is) && !open {
				t.Errorf("%s\nbash runs %q, told is %q", text, line, told)
			}
		}
	}
	if ran < 40 {
		t.Errorf("only %d texts ran the probe", ran)
	}
}
