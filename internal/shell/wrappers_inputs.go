package shell

// inputs are programs that run a command for what they read, find or see change.
func inputs(name string) (grammar, bool) {
	switch name {
	case "xargs", "gxargs":
		return grammar{opts: "0,null a,arg-file: d,delimiter: E: e,eof? I: i,replace? J: L: l,max-lines? " +
			"n,max-args: o,open-tty " +
			"P,max-procs: p,interactive r,no-run-if-empty R: S: s,max-chars: t,verbose x,exit show-limits " +
			"process-slot-var:",
			adds: true}, true
	case "parallel":
		return grammar{opts: "0,null 1 a,arg-file: arg-file-sep: arg-sep: bar basefile,bf: bg,fg,wait " +
			"bibtex,citation! will-cite " +
			"block,block-size: cat cleanup colsep,C: combine-executable: combineexec: compress " +
			"compress-program=sh+ " +
			"decompress-program=sh+ csv ctrlc d,delimiter: delay: dry-run,dryrun! E: e,eof? embed! env: eta fast " +
			"fifo files " +
			"filter: filter-hosts g,group group-by: halt,halt-on-error: header: hostgroups,hgrp I: i,replace? " +
			"id,semaphorename: " +
			"interactive,p jobs,j,P,max-procs: joblog,jl: joblog-append k,keep-order L,max-lines: l? " +
			"latest-line,ll " +
			"line-buffer,linebuffer,lb limit=sh+ link,xapply load: m max-args,n: max-chars,s: " +
			"max-line-length-allowed! " +
			"max-replace-args,N: memfree: memsuspend: minversion! nice: no-notice no-run-if-empty,r nonall noswap " +
			"number-of-cores! number-of-cpus! number-of-sockets! number-of-threads! onall open-tty,o " +
			"output-as-files outputasfiles " +
			"parens: pipe pipe-part,pipepart plain plus process-slot-var: profile,J: progress q,quote " +
			"record-env! recend: " +
			"recstart: remove-rec-sep,rrs results,res: resume resume-failed retries: retry-failed return: " +
			"round-robin,roundrobin,round rpl: S,sshlogin: sshloginfile,slf: semaphore,sem semaphoretimeout,st: " +
			"seqreplace: " +
			"session shard: shebang shellquote! shuf show-limits silent skip-first-line sqlmaster: sqlworker: " +
			"sqlandworker: " +
			"ssh=sh+ sshdelay: t,verbose tag tagstring: tee template: term-seq: timeout: tmpdir,tempdir: tmpl: " +
			"tmux tmuxpane " +
			"total-jobs: transfer transferfile,tf: trc: trim: U: u,ungroup unsafe use-cores-instead-of-threads " +
			"v,verbose V! " +
			"wd,workdir: X x,exit xargs h!", tail: "~parallel"}, true
	case "rg":
		return grammar{opts: "pre=~first+ hostname-bin=~first+ pre-glob: e,regexp: f,file: g,glob: t,type: " +
			"T,type-not: A: B: C: m: M: j: " +
			"iglob: color: colors: engine: encoding,E: max-depth,d: max-filesize: r,replace: sort: sortr:",
			lenient: true, tail: tailNone}, true
	case "entr":
		return grammar{opts: "a c d n p r s$ x z"}, true
	case "watchexec":
		return grammar{opts: "e,exts: w,watch: W,watch-non-recursive: i,ignore: f,filter: s,signal: d,debounce: " +
			"delay-run: n N,notify r,restart " +
			"c,clear? shell: p,postpone o,on-busy-update: stop-signal: stop-timeout: E,env: workdir: " +
			"project-origin: " +
			"emit-events-to: no-vcs-ignore no-project-ignore no-default-ignore no-global-ignore " +
			"no-discover-ignore timings q,quiet " +
			"color: v,verbose fs-events: poll? no-meta print-events bell 1 wrap-process: V! h!",
			tail: tailShell}, true
	case "nodemon":
		return grammar{opts: "x,exec=shx w,watch: e,ext: i,ignore: d,delay: config: s,signal: q,quiet V,verbose " +
			"I,no-stdin C,on-change-only " +
			"cwd: L,legacy-watch", lenient: true, tail: "f.javascript"}, true
	case "chokidar":
		return grammar{opts: "c,command=sh+", lenient: true, tail: tailNone}, true
	case "fzf", "sk":
		return grammar{opts: "preview=sh+ bind=~fzf+ q,query: f,filter: n,nth: d,delimiter: m? walker-root: " +
			"history: p,prompt: " +
			"with-shell: listen? cmd,c=sh+", lenient: true, tail: tailNone}, true
	}
	return grammar{}, false
}

// traces are programs that watch a command while it runs.
func traces(name string) (grammar, bool) {
	switch name {
	case "strace":
		return grammar{opts: "A,output-append-mode a,columns: b,detach-on: C,summary c,summary-only D daemonize? " +
			"d,debug E,env: e,trace: " +
			"F f,follow-forks ff,output-separately h! I,interruptible: i,instruction-pointer k stack-trace? N " +
			"n,syscall-number " +
			"o,output=~pipe+ O: P,trace-path: p,attach: q quiet? r relative-timestamps? S,summary-sort-by: " +
			"s,string-limit: T syscall-times? " +
			"t absolute-timestamps? tt ttt U,summary-columns: u,user: V! v,no-abbrev w,summary-wall-clock " +
			"X,const-print-style: x " +
			"xx Y decode-pids? y decode-fds? yy Z,failed-only z,successful-only Z argv0: always-show-pid " +
			"seccomp-bpf tips? " +
			"kill-on-exit secontext? abbrev: verbose: raw: signal: status: fault: inject: read: write: kvm:"}, true
	case "ltrace":
		return grammar{opts: "a,align: A: b,no-signals c C,demangle? D,debug: e: f F,config: h! i l,library: L " +
			"n,indent: o,output: p: r s: S t T " +
			"u: V! w,where: x: X: tt ttt"}, true
	case "valgrind", "callgrind", "heaptrack", "uftrace", "bpftrace":
		switch name {
		case "bpftrace":
			return grammar{opts: "e=t.bpftrace c=sh+ p: o: f: B: d v l! I: include: unsafe q k", lenient: true,
				tail: "f.bpftrace"}, true
		case "heaptrack":
			return grammar{opts: "o,output: p,pid! d,debug r,record-only use-inject raw a,analyze!"}, true
		}
		return grammar{opts: "v q d h!", lenient: true}, true
	case "perf":
		return grammar{opts: "v! h! p,paginate no-pager debug: exec-path? html-path list-cmds list-opts " +
			"buildid-dir: debugfs-dir:",
			verbs: "perf"}, true
	case "rr":
		return grammar{opts: "check-cached-mmaps c? D F N A:", lenient: true, verbs: "rr"}, true
	case "gdb", "cgdb", "gdb-multiarch":
		return grammar{opts: "ex,eval-command=t.gdb+ iex,init-eval-command=t.gdb+ x,command=f.gdb+ " +
			"ix,init-command=f.gdb+ args@ p,pid: c,core: " +
			"s,symbols: e,exec: d,directory: cd: D,data-directory: i,interpreter: tty,t: b: l: v! version! help! " +
			"h! batch quiet silent q nx nh nw n readnow",
			single: true, lenient: true, tail: tailNone, stdin: "gdb"}, true
	case "lldb":
		return grammar{opts: "o,one-line=t.lldb+ O,one-line-before-file=t.lldb+ S,source-before-file=f.lldb+ " +
			"s,source=f.lldb+ " +
			"k,one-line-on-crash=t.lldb+ K,source-on-crash=f.lldb+ f,file: c,core: n,attach-name: p,attach-pid: " +
			"a,arch: l: v! h!",
			lenient: true, tail: tailAfter, stdin: "lldb"}, true
	case "memusage", "sotruss", "latrace", "coverage":
		switch name {
		case "coverage":
			return grammar{verbs: "coverage"}, true
		}
		return grammar{opts: "f F: T: e: f: o: p: n: d: m: u t", lenient: true}, true
	}
	return grammar{}, false
}

// plugs are programs that run the value of an option, and no operand.
func plugs(name string) (grammar, bool) {
	none := func(opts string) (grammar, bool) { return grammar{opts: opts, lenient: true, tail: tailNone}, true }
	switch name {
	case "bsdtar": // -I is a list of names there
		return none("use-compress-program=sh+ f,file: b: C,directory: T,I: X: exclude: s:")
	case "tar", "gtar":
		return none("I,use-compress-program=sh+ F,info-script,new-volume-script=sh+ to-command=sh+ " +
			"checkpoint-action=~exec+ " +
			"rsh-command=~first+ rmt-command=~first+ f,file: b: C,directory: g,listed-incremental: K: L: N: " +
			"T,files-from: V: X: " +
			"H: exclude: checkpoint? owner: group: mode: mtime: transform,xform: strip-components:")
	case "rsync":
		return none("e,rsh=sh+ rsync-path=sh+ M,remote-option: f,filter: T: B: exclude: include: files-from: " +
			"exclude-from: " +
			"include-from: chmod: chown: log-file: password-file: port: bwlimit: max-size: partial-dir: " +
			"compare-dest: " +
			"link-dest: backup-dir: suffix: timeout:")
	case "scp":
		return none("S=shx+ D=~first+ o=~ssh i: F: P: J: l: c: X:")
	case "sftp":
		return grammar{opts: "S=shx+ D=~first+ b=f.sftp o=~ssh i: F: P: J: l: c: B: R: s: X:", lenient: true,
			tail: tailNone, stdin: "sftp"}, true
	case "sort", "gsort":
		return none("compress-program=shx+ k,key: o,output: t: T: S: files0-from: sort: parallel: batch-size:")
	case "split", "gsplit":
		return none("filter=sh+ a: b: C: l: n: t: additional-suffix:")
	case "install", "ginstall":
		return none("strip-program=~first+ g: m: o: S: t:")
	case "zip":
		return grammar{opts: "TT,unzip-command=sh+ b: i: x: t: tt: n: P: O: s:", single: true, lenient: true,
			tail: tailNone}, true
	case "wget":
		return none("use-askpass=~first+ O: o: U: P: header: e: post-data: post-file: user: password: referer: " +
			"T: t: w: Q: A: R: D: I: X: B: a: i:")
	case "tcpdump":
		return none("z=~first+ w: r: G: C: W: i: c: s: F: B: y: E: M: V: Z: T: m: Q: j:")
	case "pandoc":
		return none("F,filter=~first+ L,lua-filter=f.lua+ f: t: o: c: H: B: A: M: V: template: pdf-engine=~first+")
	case "dpkg":
		return none("pre-invoke=sh+ post-invoke=sh+ status-logger=sh+ admindir: root: instdir: force: log:")
	case "apt", "apt-get", "aptitude", "apt-cache":
		return none("o,option=~apt+ c,config-file: t: a:")
	case "less", "more", "most", "zless":
		return grammar{opts: "o: O: p: P: t: T: k: x: y: z: b: h: j: D:", lenient: true, tail: "~~less"}, true
	case "man":
		return grammar{opts: "C,config-file: d,debug D,default warnings? f,whatis k,apropos K,global-apropos " +
			"l,local-file w,where W,where-cat " +
			"c,catman R,recode: L,locale: m,systems: M,manpath: S,s,sections: e,extension: i,ignore-case " +
			"I,match-case regex " +
			"wildcard names-only a,all u,update no-subpages P,pager=sh+ r,prompt: 7,ascii E,encoding: " +
			"no-hyphenation,nh " +
			"no-justification,nj p,preprocessor: t,troff T? troff-device? H,html?sh+ X? gxditview? Z,ditroff V! " +
			"h! ?!",
			tail: tailNone}, true
	case "vagrant":
		return grammar{opts: "c,command=sh t p,plain machine-readable no-color color debug timestamp",
			lenient: true, tail: tailAfter,
			remote: true}, true
	case "nix-shell":
		return grammar{opts: "run=sh command=sh p,packages A,attr: I: E,expr: exclude: arg:: argstr:: pure keep: " +
			"i: j: cores: o: " +
			"option:: Q v,verbose", lenient: true, tail: tailNone}, true
	case "nc", "netcat", "ncat", "nc.traditional", "nc.openbsd":
		return none("e,exec=~fed+ c,sh-exec=~fed+ lua-exec=f.lua+ p: s: w: i: q: X: x: g: G: I: O: P: T: V: W: " +
			"m: o: M: b:")
	case "socat":
		return grammar{opts: "b: t: T: L: W: l: S: r: R:", lenient: true, tail: "~~socat"}, true
	case "xdg-open", "mutt", "neomutt":
		if name != "xdg-open" {
			return none("e=t.mutt F=f.mutt a: b: c: H: i: s:")
		}
	case "openvpn":
		return none("up=sh+ down=sh+ route-up=sh+ tls-verify=sh+ auth-user-pass-verify=sh+ client-connect=sh+ " +
			"config: dev:")
	case "dhclient":
		return none("sf=~first+ cf: lf: pf:")
	case "logrotate", "rsnapshot":
		return none("m,mail=sh+ s: l:")
	case "sed", "gsed":
		return grammar{opts: "n,quiet,silent debug e,expression=~sed f,file=f.sed E,r,regexp-extended " +
			"i,in-place? l,line-length: posix " +
			"s,separate sandbox u,unbuffered z,null-data follow-symlinks", lenient: true, tail: "~sed"}, true
	case "ansible":
		return grammar{opts: "a,args=~ansible m,module-name: i,inventory: u,user: l,limit: e,extra-vars: f: t: " +
			"M: T: c: P: B:", lenient: true,
			tail: tailNone, remote: true}, true
	case "gs":
		if name == "gs" {
			return grammar{opts: "c=t.postscript s: d: o: f:", lenient: true, tail: "f.postscript",
				stdin: "postscript"}, true
		}
	case "mail", "mailx", "sendmail":
		if name != "sendmail" {
			return none("s: c: b: r: a: A: f: u: q:")
		}
	}
	return grammar{}, false
}
