package shell

// fleets are programs that run a command in many repositories, on many machines, for each line that they read, or each
// time that a file changes.
func fleets(name string) (grammar, bool) {
	switch name {
	case "mani", "meta", "mr", "repo", "gita", "mu", "bolt", "pueue":
		return grammar{opts: "c,config: d,directory: j,jobs: v,verbose q,quiet", verbs: name, lenient: true}, true
	case "knife":
		return grammar{opts: "c,config: k,key: u,user: F,format: z,local-mode", verbs: name, lenient: true}, true
	case "onchange":
		return grammar{opts: "i,initial w? d,delay: e,exclude: k,kill j,jobs: a,add c,change p,poll? f,filter: o,outpipe=sh+ " +
			"await-write-finish? no-exclude verbose", lenient: true, tail: tailAfter}, true
	case "reflex":
		return grammar{opts: "r,regex: R,inverse-regex: g,glob: G,inverse-glob: all c,config: d,decoration: s,start-service " +
			"sequential v,verbose t,shutdown-timeout: e,only-files only-dirs substitute:"}, true
	case "when-changed":
		return grammar{opts: "r v 1 s c@", skip: 1, mixed: true, tail: tailShell}, true
	case "watchman-make":
		return grammar{opts: "run=sh make=sh p,pattern: t,target: settle: root: s,suspend-on-exit", lenient: true,
			tail: tailNone}, true
	case "rerun":
		return grammar{opts: "p,pattern: d,dir: i,ignore: n,name: s,signal: w,wait: c,clear x,exit b,background", lenient: true,
			tail: tailShell}, true
	case "xe":
		return grammar{opts: "0 F L R n v j: f: I: N: s=sh a:", adds: true}, true
	case "rargs":
		return grammar{opts: "p,pattern: d,delimiter: e,regex: s,separator: w,worker: read0,0 j,threads:", adds: true}, true
	case "viddy", "hwatch":
		return grammar{opts: "n,interval: p,precise d,differences? t,no-title c,color b,bell A,aftercommand=sh+ L,limit: " +
			"s,shell: l,logfile? o,output: K,keymap:", lenient: true, tail: tailShell}, true
	case "mprocs":
		return grammar{opts: "c,config: s,server: ctl! names: npm just", tail: tailEach}, true
	case "nq":
		return grammar{opts: "c q a"}, true
	case "minijail0":
		return grammar{opts: "a: B: b: c: C: D d e? f: g: G H! h! i? I j k: K? l L m? M? n N p P: r R: s S: T: t? u: U v V: w " +
			"x: Y z y"}, true
	case "nsjail":
		return grammar{opts: "M: m: x: c: p: r: u: g: H: D: i: t: T: R: B: E: C: U: G: l: d v q e N", lenient: true,
			tail: tailAfter}, true
	case "gnome-session-inhibit":
		return grammar{opts: "app-id: reason: inhibit: inhibit-only l,list!"}, true
	}
	return grammar{}, false
}

// fleetVerb is verbOf for them.
func fleetVerb(program, verb string) (grammar, bool) {
	switch program + " " + verb {
	case "mani exec":
		return grammar{opts: "a,all k,cwd d,paths: p,projects: t,tags: s,silent o,output: f,forks: parallel dry-run!",
			lenient: true, tail: tailShell}, true
	case "meta exec":
		return grammar{opts: "include-only: exclude: parallel silent", lenient: true, tail: tailShell}, true
	case "mr run":
		return grammar{}, true
	case "repo forall":
		return grammar{opts: "c,command@ r,regex i,inverse-regex g,groups: p v e j,jobs: abort-on-errors ignore-missing",
			lenient: true, tail: tailNone}, true
	case "gita shell": // [REPOSITORY …] COMMAND
		return grammar{opts: "q,quote", lenient: true, tail: "~maybe-named"}, true
	case "mu sh":
		return grammar{lenient: true, tail: tailShell}, true
	case "bolt command":
		return grammar{verbs: "bolt command", lenient: true}, true
	case "bolt command run":
		return grammar{opts: "t,targets: q,query: u,user: p,password?", lenient: true, tail: tailShell, remote: true}, true
	case "pueue add":
		return grammar{opts: "i,immediate s,stashed d,delay: g,group: a,after: p,print-task-id l,label: w,working-directory: " +
			"o,priority: e,escape", tail: tailShell}, true
	case "knife ssh", "knife winrm": // QUERY COMMAND
		return grammar{opts: "C,concurrency: a,attribute: x,ssh-user: P,ssh-password? p,ssh-port: i,identity-file: G,gateway: " +
			"m,manual-list t,timeout: y,yes", skip: 1, lenient: true, tail: tailShell, remote: true}, true
	}
	return grammar{}, false
}
