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
	dashes  bool   // the command begins after --
	nocmd   string // short options with which nothing is run
	shells  string // short options with which a shell runs the joined words, or its input
	reads   bool   // without a command it is a shell that reads its standard input
}

// wrapperOf returns how the program of the name runs others.
func wrapperOf(name string) (wrapper, bool) {
	switch name {
	case "sudo":
		return wrapper{takes: "ugpCcrtThUDRa",
			long: []string{"user", "group", "prompt", "host", "role", "type", "chdir", "chroot", "close-from", "command-timeout",
				"other-user", "login-class"}, assigns: true, nocmd: "leVvK", shells: "si"}, true
	case "doas":
		return wrapper{takes: "uCa", nocmd: "L", shells: "s"}, true
	case "pkexec", "run0":
		return wrapper{takes: "ugDM",
			long: []string{"user", "group", "chdir", "unit", "property", "setenv", "slice", "nice", "machine", "background",
				"description"}, reads: true}, true
	case "env":
		return wrapper{takes: "uCaP", long: []string{"unset", "chdir", "argv0"}, assigns: true, code: "S",
			codes: []string{"split-string"}}, true
	case "nice":
		return wrapper{takes: "n", long: []string{"adjustment"}}, true
	case "nohup", "setsid", "unbuffer", "eatmydata", "busybox", "toybox", "builtin", "catchsegv":
		return wrapper{}, true
	case "time":
		return wrapper{takes: "fo", long: []string{"format", "output"}}, true
	case "fakeroot":
		return wrapper{takes: "lisb", long: []string{"lib", "faked"}, reads: true}, true
	case "torsocks":
		return wrapper{takes: "uapP", long: []string{"user", "pass", "address", "port"}}, true
	case "dbus-run-session":
		return wrapper{long: []string{"config-file", "dbus-daemon"}}, true
	case "xvfb-run":
		return wrapper{takes: "efnpsw",
			long: []string{"error-file", "auth-file", "server-num", "xauth-protocol", "server-args", "wait"}}, true
	case "proxychains", "proxychains4":
		return wrapper{takes: "f"}, true
	case "caffeinate":
		return wrapper{takes: "tw"}, true
	case "stdbuf":
		return wrapper{takes: "ioe", long: []string{"input", "output", "error"}}, true
	case "ionice":
		return wrapper{takes: "cnpPu", long: []string{"class", "classdata", "pid"}}, true
	case "chrt":
		return wrapper{takes: "TPDp", skip: 1}, true
	case "taskset":
		return wrapper{skip: 1}, true
	case "numactl":
		return wrapper{takes: "ipPmNCcw",
			long: []string{"interleave", "weighted-interleave", "preferred", "preferred-many", "membind", "cpunodebind",
				"physcpubind", "cpubind"}}, true
	case "timeout", "gtimeout":
		return wrapper{takes: "ks", long: []string{"kill-after", "signal"}, skip: 1}, true
	case "exec":
		return wrapper{takes: "a"}, true
	case "command":
		return wrapper{nocmd: "vV"}, true
	case "strace":
		return wrapper{takes: "eopsuEaIOSXPbU",
			long: []string{"output", "attach", "user", "env", "string-limit", "trace", "columns"}}, true
	case "ltrace":
		return wrapper{takes: "eopsuaAlnxDFw",
			long: []string{"output", "align", "demangle", "indent", "library", "config", "where"}}, true
	case "valgrind", "firejail":
		return wrapper{}, true
	case "watch":
		return wrapper{takes: "nq", long: []string{"interval", "equexit"}, join: true}, true
	case "flock":
		return wrapper{takes: "wE", long: []string{"timeout", "wait", "conflict-exit-code"}, skip: 1, code: "c",
			codes: []string{"command"}}, true
	case "xargs", "gxargs":
		return wrapper{takes: "InPLsEdaJRS",
			long: []string{"max-args", "max-procs", "max-chars", "delimiter", "arg-file", "process-slot-var"}, open: true}, true
	case "parallel":
		return wrapper{takes: "jaIUdSNPnLsEC",
			long: []string{"rpl", "jobs", "max-procs", "max-args", "colsep", "results", "tmpdir", "workdir", "env", "tagstring",
				"halt", "sshloginfile", "arg-file", "delay", "joblog", "sshlogin", "timeout", "retries"}}, true
	case "chroot":
		return wrapper{long: []string{"userspec", "groups"}, skip: 1, reads: true}, true
	case "unshare":
		return wrapper{takes: "SGRw",
			long: []string{"root", "wd", "setuid", "setgid", "propagation", "setgroups", "monotonic", "boottime", "map-user",
				"map-group", "map-users", "map-groups"}, reads: true}, true
	case "nsenter": // what -r and -w take is attached
		return wrapper{takes: "tSGW", long: []string{"target", "setuid", "setgid", "wdns"}, reads: true}, true
	case "systemd-run":
		return wrapper{takes: "pumMEH",
			long: []string{"property", "unit", "machine", "description", "slice", "uid", "gid", "setenv", "on-calendar",
				"on-active", "working-directory"}}, true
	case "ssh", "mosh":
		return wrapper{takes: "bBcDEeFIiJLlmOopPQRSWw", skip: 1, join: true, remote: true, reads: true}, true
	case "autossh": // -M takes a port there
		return wrapper{takes: "bBcDEeFIiJLlMmOopPQRSWw", skip: 1, join: true, remote: true, reads: true}, true
	case "pdsh":
		return wrapper{takes: "wxlftu", join: true, remote: true}, true
	case "su", "runuser":
		return wrapper{takes: "sugGw", long: []string{"shell", "user", "group", "supp-group", "whitelist-environment"},
			code: "c", codes: []string{"command", "session-command"}, skip: 1, reads: true}, true
	case "script":
		return wrapper{takes: "EIOBTom", code: "c", codes: []string{"command"}, skip: 1, reads: true}, true
	case "man":
		return wrapper{takes: "MSLmRCer", code: "P", codes: []string{"pager"}, skip: 99}, true
	case "vagrant":
		return wrapper{code: "c", codes: []string{"command"}, skip: 99, remote: true}, true
	case "nix-shell":
		return wrapper{takes: "pIA", code: "", codes: []string{"run", "command"}, skip: 99}, true
	case "entr":
		return wrapper{shells: "s"}, true
	case "bundle", "poetry", "pipenv", "pdm", "uv", "rye", "hatch":
		return wrapper{takes: "p",
			long: []string{"with", "with-requirements", "python", "project", "directory", "extra", "group", "env-file",
				"package"}}, true
	case "conda", "mamba", "micromamba":
		return wrapper{takes: "np", long: []string{"name", "prefix", "cwd"}}, true
	case "direnv":
		return wrapper{skip: 1}, true
	case "npx", "bunx", "pnpx":
		return wrapper{takes: "p", long: []string{"package"}, code: "c", codes: []string{"call"}}, true
	case "dotenv", "dotenvx", "doppler", "op", "aws-vault", "chamber", "teller":
		return wrapper{skip: 99, dashes: true}, true
	case "envchain":
		return wrapper{skip: 1}, true
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
