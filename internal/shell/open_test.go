package shell_test

import (
	"testing"

	"github.com/belay-hooks/belay/internal/shell"
)

// What reads further commands from its terminal, and what does not.
func TestStaysOpen(t *testing.T) {
	for text, want := range map[string]string{
		"bash": "bash", "/bin/sh": "sh", "bash -i": "bash", "bash -l": "bash", "sh -s": "sh", "bash --rcfile x": "bash",
		"ls; bash": "bash", "cd x && exec zsh": "zsh", "env A=1 bash": "bash", "nohup bash &": "bash", "timeout 9 sh": "sh",
		"sudo bash": "bash", "sudo -i": "sudo", "sudo -u dev -s": "sudo", "python3": "python3", "python3 -i x.py": "python3",
		"python -": "python", "python3 -W error": "python3", "node": "node", "node -r fs": "node", "node -i x.js": "node",
		"perl": "perl", "ruby": "ruby", "irb": "irb", "ssh host": "ssh", "ssh -p 22 dev@host": "ssh", "psql": "psql",
		"psql -h host db": "psql", "mysql -u root": "mysql", "sqlite3 a.db": "sqlite3", "gdb ./a": "gdb", "vim x": "vim",
		"less x": "less", "su": "su", "su - dev": "su", "script out": "script", "tmux": "tmux", "nc host 80": "nc",
		"docker run -it ubuntu": "docker", "docker exec -it c sh": "sh", "docker attach c": "docker",
		"kubectl exec -it p -- bash": "bash", "if true; then bash; fi": "bash", "f() { bash; }; f": "bash",
		"bash -c 'exec python3'": "python3", "bash </dev/tty": "bash", "$(echo bash)": "bash", "sh -c 'ls; sh'": "sh",
	} {
		reply, _ := shell.Parse(text)
		name, open := reply.StaysOpen()
		if !open || name != want {
			t.Errorf("%s: %q, %v; want %q", text, name, open, want)
		}
	}
	for _, text := range []string{
		"ls", "bash -c ls", "bash x.sh", "bash -x ./run.sh -i", "sh -ec 'make'", "bash -lc 'echo hi'", "echo ls | bash",
		"bash < x.sh",
		"bash <<'E'\nls\nE", "python3 -c 'print(1)'", "python3 x.py -i", "python3 -m pytest", "python3 --version",
		"python3 - <<'E'\nprint(1)\nE", "node x.js", "node -e 1", "node --test x.js", "node --version", "perl -pe 's/a/b/' x",
		"perl x.pl",
		"ruby x.rb", "ssh host ls", "psql -c 'select 1'", "psql -f x.sql", "mysql -e 'select 1'", "mysql < x.sql",
		"sqlite3 a.db 'select 1'", "docker run ubuntu ls", "docker run --rm -it ubuntu ls", "docker ps", "kubectl get pods",
		"sudo ls", "sudo -l", "su -c ls", "cat", "tee x", "git commit -m x", "make", "npm test", "grep -i x y", "env",
		"sudo -u dev make",
		"gdb -batch -ex run ./a", "vim --version", "nvim --version",
	} {
		reply, _ := shell.Parse(text)
		if name, open := reply.StaysOpen(); open {
			t.Errorf("%s: %q stays open", text, name)
		}
	}
	for _, text := range []string{"echo 'x", "if true"} { // cannot be read to its end
		reply, _ := shell.Parse(text)
		if _, open := reply.StaysOpen(); !open {
			t.Errorf("%s: does not stay open", text)
		}
	}
}
