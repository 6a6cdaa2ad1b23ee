package shell

// wrapper says how a program takes the command that it runs.
type wrapper struct {
	takes   string   // short options that take a value
	long    []string // long options that take a value (--name value)
	skip    int      // operands before the command
	assigns bool     // NAME=value operands set the environment
	join    bool     // the words are joined and given to a shell
	code    string   // short options whose value is shell text
	codes   []string // long options whose value is shell text
	remote  bool
	open    bool   // it adds arguments of its own
	after   string // the command begins after this operand
	nocmd   string // short options with which nothing is run
}

// wrapperOf returns how the program of the name runs others.
func wrapperOf(name string) (wrapper, bool) {
	switch name {
	case "sudo":
		return wrapper{takes: "ugpCcrtThUDRa", long: []string{"user", "group", "prompt", "host", "role", "type", "chdir", "chroot", "close-from", "command-timeout", "other-user", "login-class"}, assigns: true, nocmd: "leVvkK"}, true
	case "doas":
		return wrapper{takes: "uCa", nocmd: "L"}, true
	case "pkexec", "run0":
		return wrapper{takes: "u", long: []string{"user", "group", "chdir", "unit", "property"}}, true
	case "env":
		return wrapper{takes: "uC", long: []string{"unset", "chdir"}, assigns: true, code: "S", codes: []string{"split-string"}}, true
	case "nice":
		return wrapper{takes: "n", long: []string{"adjustment"}}, true
	case "nohup", "setsid", "unbuffer", "fakeroot", "torsocks", "proxychains", "eatmydata", "busybox", "toybox", "builtin", "catchsegv", "then", "dbus-run-session", "xvfb-run", "time":
		return wrapper{takes: "fo"}, true
	case "proxychains4":
		return wrapper{takes: "f"}, true
	case "caffeinate":
		return wrapper{takes: "tw"}, true
	case "stdbuf":
		return wrapper{takes: "ioe", long: []string{"input", "output", "error"}}, true
	case "ionice":
		return wrapper{takes: "cnpPu", long: []string{"class", "classdata", "pid"}}, true
	case "chrt":
		return wrapper{takes: "TPDp", skip: 1}, true
	case "taskset", "numactl":
		return wrapper{skip: map[string]int{"taskset": 1}[name]}, true
	case "timeout", "gtimeout":
		return wrapper{takes: "ks", long: []string{"kill-after", "signal"}, skip: 1}, true
	case "exec":
		return wrapper{takes: "a"}, true
	case "command":
		return wrapper{nocmd: "vV"}, true
	case "strace", "ltrace":
		return wrapper{takes: "eopsuEaIOSXPb"}, true
	case "valgrind", "firejail":
		return wrapper{}, true
	case "watch":
		return wrapper{takes: "nq", long: []string{"interval", "equexit"}, join: true}, true
	case "flock":
		return wrapper{takes: "wE", long: []string{"timeout", "wait", "conflict-exit-code"}, skip: 1, code: "c", codes: []string{"command"}}, true
	case "xargs", "gxargs":
		return wrapper{takes: "InPLsEda", long: []string{"replace", "max-args", "max-procs", "max-lines", "max-chars", "eof", "delimiter", "arg-file", "process-slot-var"}, open: true}, true
	case "parallel":
		return wrapper{takes: "jaIdSN", long: []string{"jobs", "arg-file", "delay", "joblog", "sshlogin", "timeout", "retries"}, join: true, open: true, after: ":::"}, true
	case "chroot":
		return wrapper{long: []string{"userspec", "groups"}, skip: 1}, true
	case "unshare", "nsenter":
		return wrapper{takes: "tSGRw", long: []string{"target", "root", "wd", "setuid", "setgid"}}, true
	case "systemd-run":
		return wrapper{takes: "pumMEH", long: []string{"property", "unit", "machine", "description", "slice", "uid", "gid", "setenv", "on-calendar", "on-active", "working-directory"}}, true
	case "ssh", "autossh", "mosh":
		return wrapper{takes: "bBcDEeFIiJLlmOopQRSWw", skip: 1, join: true, remote: true}, true
	case "pdsh":
		return wrapper{takes: "wxlftu", join: true, remote: true}, true
	case "su", "runuser":
		return wrapper{takes: "sugG", long: []string{"shell", "user", "group", "supp-group", "session-command"}, code: "c", codes: []string{"command", "session-command"}, skip: 1}, true
	case "script":
		return wrapper{takes: "EIOBToT", code: "c", codes: []string{"command"}, skip: 99}, true
	case "man":
		return wrapper{takes: "MSLmRCer", code: "P", codes: []string{"pager"}, skip: 99}, true
	case "vagrant":
		return wrapper{code: "c", codes: []string{"command"}, skip: 99, remote: true}, true
	case "nix-shell":
		return wrapper{takes: "pIA", code: "", codes: []string{"run", "command"}, skip: 99}, true
	case "entr":
		return wrapper{}, true
	case "bundle", "poetry", "pipenv", "pdm", "uv", "rye", "hatch":
		return wrapper{skip: 1}, true // exec or run; see runs
	case "conda", "mamba", "micromamba":
		return wrapper{takes: "np", long: []string{"name", "prefix"}, skip: 1}, true
	case "direnv":
		return wrapper{skip: 2}, true
	case "npx", "bunx", "pnpx":
		return wrapper{takes: "p", long: []string{"package"}, code: "c", codes: []string{"call"}}, true
	case "dotenv", "dotenvx", "doppler", "op", "aws-vault", "chamber", "envchain", "teller":
		return wrapper{skip: 99, after: "--"}, true
	}
	return wrapper{}, false
}

func isShell(name string) bool {
	switch name {
	case "sh", "bash", "dash", "zsh", "ksh", "ksh93", "mksh", "ash", "rbash", "fish", "yash", "posh":
		return true
	}
	return false
}
