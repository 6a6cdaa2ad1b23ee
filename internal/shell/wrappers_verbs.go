package shell

import "strings"

// verbOf returns what a verb of the program runs. The key is the program, or its family, with the verbs before.
func verbOf(key, verb string) (grammar, bool) {
	for _, table := range []func(program, verb string) (grammar, bool){clusterVerb, machineVerb,
		launcherVerb, fleetVerb} {
		if g, ok := table(key, verb); ok {
			return g, true
		}
	}
	switch key {
	case "docker", "docker compose", "kubectl", "lxc", "k3s", "microk8s", "minikube", "k0s":
		return containerVerb(key, verb)
	case "git submodule":
		return grammar{opts: "recursive q,quiet", tail: tailShell, label: key}, verb == "foreach"
	case "git bisect":
		return grammar{label: key, opts: ""}, verb == "run"
	case "ip", "ip netns", "ip vrf":
		switch {
		case key == "ip" && (verb == "netns" || verb == "vrf" || verb == "net"):
			return grammar{opts: "a,all", single: true, verbs: "ip netns"}, true
		case key == "ip netns" && (verb == "exec" || verb == "e"):
			return grammar{tail: "~netns"}, true
		}
		return grammar{}, false
	case "perf":
		return perfVerb(verb)
	case "rr":
		return grammar{lenient: true, opts: "n o: v,env: c: t: D:"}, verb == "record"
	case "coverage":
		return grammar{lenient: true, opts: "m=~pymod p a source: include: omit: rcfile: data-file: context: " +
			"concurrency:", tail: "f.python"}, verb == "run"
	case "tmux", "zellij":
		return multiplexerVerb(key, verb)
	case "go":
		return goVerb(verb)
	case "cargo":
		switch verb {
		case "watch":
			return grammar{opts: "x,exec=~cargo+ s,shell=sh+ w,watch: i,ignore: d,delay: C,workdir: features: E: " +
				"B: L: use-shell: c,clear q,quiet " +
				"postpone poll why no-gitignore no-restart N,notify", tail: tailArgv}, true
		case "nextest", "test", "t", "bench", "run", "r":
			return grammar{opts: "config=~cargoconfig+", lenient: true, tail: tailNone}, true
		}
		return grammar{}, false
	case "manage.py":
		return grammar{opts: "c,command=~shellcode", lenient: true, tail: tailNone}, strings.HasPrefix(verb, "shell")
	case "rails":
		return grammar{opts: "e,environment:", lenient: true, tail: "t.ruby"}, verb == "runner" || verb == "r"
	case "swift":
		if strings.HasSuffix(verb, ".swift") {
			return grammar{lenient: true, tail: tailNone}, false
		}
		return grammar{}, false
	case "crystal":
		return grammar{lenient: true, tail: "t.crystal"}, verb == "eval"
	case "nim":
		return grammar{lenient: true, tail: "f.nim"}, verb == "e" || verb == "r"
	case "dotnet":
		return grammar{lenient: true, tail: "f.dotnet"}, verb == "exec" || verb == "fsi" || verb == "script"
	case "deno":
		switch verb {
		case "eval":
			return grammar{opts: "p,print ext: T", lenient: true, tail: "t.javascript"}, true
		case "run", "serve", "test", "bench":
			return grammar{opts: "c,config: import-map: lock: cert: env-file? L: location: seed: v8-flags? r? " +
				"port: host: ext: preload=f.javascript+ " +
				"unsafely-ignore-certificate-errors?", lenient: true, tail: "f.javascript", stdin: "javascript"}, true
		}
		return grammar{}, false
	}
	return runnerVerb(key, verb)
}

func perfVerb(verb string) (grammar, bool) {
	switch verb {
	case "stat":
		return grammar{opts: "e,event: i,no-inherit p,pid: t,tid: a,all-cpus d,detailed r,repeat: B,big-num " +
			"C,cpu: A,no-aggr n,null v,verbose x,field-separator: " +
			"G,cgroup: for-each-cgroup: o,output: append log-fd: pre=sh+ post=sh+ I,interval-print: " +
			"interval-count: timeout: M,metrics: per-socket per-core " +
			"per-thread per-node D,delay: T,transaction topdown td-level: j,json-output bpf-prog: b: S,sync " +
			"c,scale table no-merge control: control-fd: smi-cost " +
			"metric-only metric-no-group per-die all-kernel all-user cputype: summary inherit"}, true
	case "record":
		return grammar{opts: "e,event: filter: p,pid: t,tid: r,realtime: no-buffering a,all-cpus C,cpu: c,count: " +
			"o,output: i,no-inherit F,freq: m,mmap-pages: g " +
			"call-graph: q,quiet v,verbose s,stat d,data T,timestamp P,period n,no-samples R,raw-samples " +
			"W,weight N,no-buildid-cache B,no-buildid G,cgroup: " +
			"b,branch-any j,branch-filter: D,delay: I,intr-regs? k,clockid: S,snapshot? proc-map-timeout: " +
			"switch-events all-kernel all-user " +
			"timestamp-filename timestamp-boundary switch-output? dry-run vmlinux: z,compression-level? " +
			"overwrite tail-synthesize num-thread-synthesize: " +
			"kernel-callchains user-callchains user-regs? phys-addr code-page-size data-page-size sample-cpu " +
			"strict-freq running-time namespaces group"}, true
	case "trace":
		return grammar{opts: "a,all-cpus e,event,expr: p,pid: t,tid: u,uid: G,cgroup: o,output: s,summary " +
			"S,with-summary T,time F,pf? v,verbose i,input! f,force " +
			"m,mmap-pages: C,cpu: duration: call-graph: filter-pids: min-stack: max-stack: sched errno-summary " +
			"no-inherit failure syscalls comm D,delay: " +
			"max-events: switch-on: switch-off: kernel-syscall-graph tool_stats sort-events libtraceevent_print " +
			"map-dump: force-btf show-on-off-events"}, true
	case "ftrace", "mem", "c2c", "sched", "lock", "kmem", "timechart", "kvm", "kwork":
		return grammar{opts: "a p: t: T: e: D: C: m: K: U: o: i: v", lenient: true, verbs: "perf"}, true
	}
	return grammar{}, false
}

// multiplexerVerb returns what the verbs of terminals that hold several shells run.
func multiplexerVerb(key, verb string) (grammar, bool) {
	if key == "zellij" {
		return grammar{opts: "c,close-on-exit cwd: d,direction: f,floating i,in-place n,name: s,start-suspended " +
				"stacked w,width: x: y: h,height: pinned:"},
			verb == "run" || verb == "r"
	}
	const window = "A a b d D E P X k r h v f I Z N c: e: F: l: n: p: s: t: x: y: T: B: S:"
	switch {
	case strings.HasPrefix(verb, "new") && verb != "newp", strings.HasPrefix(verb, "split"), verb == "splitw",
		strings.HasPrefix(verb, "respawn"),
		strings.HasPrefix(verb, "neww"), verb == "display-popup", verb == "popup":
		return grammar{opts: window, tail: tailEither, lenient: true}, true
	case strings.HasPrefix(verb, "run"):
		return grammar{opts: "b C d: c: t:", tail: tailEither, lenient: true}, true
	case strings.HasPrefix(verb, "if"):
		return grammar{opts: "b F t:", tail: "~if"}, true
	case strings.HasPrefix(verb, "send-k"), verb == "send":
		return grammar{opts: "F H K l M R X c: N: t:", tail: "~keys"}, true
	case strings.HasPrefix(verb, "pipe"):
		return grammar{opts: "I O o t:", tail: tailEach}, true
	case strings.HasPrefix(verb, "source"):
		return grammar{opts: "F n q v t:", tail: "f.tmux"}, true
	}
	return grammar{}, false
}
