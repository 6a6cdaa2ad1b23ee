package shell

// wrapperOf returns how the program of the name runs others, from its manual.
func wrapperOf(name string) (grammar, bool) {
	for _, table := range []func(string) (grammar, bool){accounts, resources, jails, small, inputs, traces,
		plugs, hosts, machines, clusters, launchers, fleets, runners} {
		if g, ok := table(name); ok {
			return g, true
		}
	}
	return grammar{}, false
}

// accounts are programs that run a command as another user or with other rights.
func accounts(name string) (grammar, bool) {
	switch name {
	case "sudo":
		return grammar{opts: "A,askpass b,background B,bell E preserve-env? e,edit! H,set-home i,login$ " +
			"K,remove-timestamp! " +
			"k,reset-timestamp l,list! n,non-interactive N,no-update P,preserve-groups S,stdin s,shell$ V,version! " +
			"v,validate! C,close-from: D,chdir: g,group: h,host: p,prompt: R,chroot: r,role: t,type: " +
			"T,command-timeout: " +
			"U,other-user: u,user: a,auth-type: c,login-class:", assigns: true}, true
	case "doas":
		return grammar{opts: "a: C! L! n s$ u:"}, true
	case "pkexec":
		return grammar{opts: "user: disable-internal-agent keep-cwd", stdin: kindShell}, true
	case "run0":
		return grammar{opts: "u,user: g,group: D,chdir: unit: property: setenv: slice: slice-inherit nice: " +
			"machine: " +
			"background: description: shell-prompt-prefix: pty pipe via-shell no-ask-password area: lightweight:",
			stdin: kindShell}, true
	case "su", "runuser":
		g := grammar{opts: "s,shell: g,group: G,supp-group: w,whitelist-environment: l,login " +
			"m,p,preserve-environment f,fast " +
			"P,pty T,no-pty c,command=sh session-command=sh V! h!", skip: 1, mixed: true, tail: tailArgs,
			stdin: kindShell}
		if name == "runuser" {
			g.opts += " u,user=~user"
		}
		return g, true
	case "sg":
		return grammar{opts: "c=sh", skip: 1, mixed: true, tail: tailShell, stdin: kindShell}, true
	case "newgrp":
		return grammar{opts: "c=sh l", skip: 1, tail: tailNone, stdin: kindShell}, true
	case "setpriv":
		return grammar{opts: "clear-groups keep-groups init-groups groups: d,dump! no-new-privs,nnp inh-caps: " +
			"ambient-caps: " +
			"bounding-set: list-caps! rgid: egid: regid: ruid: euid: reuid: securebits: selinux-label: " +
			"apparmor-profile: " +
			"landlock-access: landlock-rule: seccomp-filter: pdeathsig: ptracer: reset-env V! h!"}, true
	case "chroot":
		return grammar{opts: "userspec: groups: skip-chdir u: g: G: n", skip: 1, stdin: kindShell}, true
	case "capsh":
		return grammar{opts: "drop: caps: inh: user: uid: gid: groups: cap-uid: keep: secbits: mode? iab: " +
			"addamb: delamb: " +
			"noamb chroot: forkfor: killit: print! decode! supports! has-p! has-a! has-b! has-i! is-uid! is-gid! " +
			"no-new-privs " +
			"strict quiet shell: noenv noiab", tail: "~capsh", dashed: true}, true
	case "gosu", "su-exec", "setuidgid", "envuidgid", "s6-setuidgid", "s6-envdir", "envdir":
		return grammar{skip: 1}, true
	case "chpst", "runuv":
		return grammar{opts: "v V! P 0 1 2 u: U: b: e: / : n: l: L: m: d: o: p: f: c: C: r: t:"}, true
	case "softlimit", "s6-softlimit":
		return grammar{opts: "a: c: d: f: l: m: o: p: r: s: t: h H S"}, true
	}
	return grammar{}, false
}

// resources are programs that run a command with other limits, times, priorities or streams.
func resources(name string) (grammar, bool) {
	switch name {
	case "env", "genv":
		return grammar{opts: "i,ignore-environment 0,null u,unset: C,chdir: S,split-string=~split v,debug " +
			"a,argv0: P: L: U: " +
			"block-signal? default-signal? ignore-signal? list-signal-handling", assigns: true}, true
	case "nice", "gnice":
		return grammar{opts: "n,adjustment:", numbers: true}, true
	case "nohup", "unbuffer", "eatmydata", "catchsegv", "builtin", "chronic", "ifne", "ts", "linux64", "stdoutisatty",
		"faketime", "libtool-exec", "noroot", "gnohup":
		g := grammar{opts: "p n i s"}
		if name == "faketime" {
			g = grammar{opts: "m f p: exclude-monotonic", skip: 1}
		}
		return g, true
	case "setsid":
		return grammar{opts: "c,ctty f,fork w,wait V! h!"}, true
	case "busybox", "toybox":
		return grammar{opts: "list! list-full! list-long! install! s long! h!"}, true
	case "time", "gtime":
		return grammar{opts: "f,format: o,output: a,append p,portability v,verbose q,quiet V! l h"}, true
	case "stdbuf", "gstdbuf":
		return grammar{opts: "i,input: o,output: e,error:"}, true
	case "timeout", "gtimeout":
		return grammar{opts: "k,kill-after: s,signal: f,foreground p,preserve-status v,verbose", skip: 1}, true
	case "ionice":
		return grammar{opts: "c,class: n,classdata: p,pid! P,pgid! u,uid! t,ignore V! h!"}, true
	case "chrt":
		return grammar{opts: "b,batch d,deadline e,ext f,fifo i,idle o,other r,rr T,sched-runtime: P,sched-period: " +
			"D,sched-deadline: R,reset-on-fork a,all-tasks m,max! p,pid! v,verbose V! h!", skip: 1}, true
	case "taskset":
		return grammar{opts: "a,all-tasks c,cpu-list p,pid! V! h!", skip: 1}, true
	case "uclampset":
		return grammar{opts: "m: M: a,all-tasks p,pid! s,system! R,reset-on-fork v,verbose V! h!"}, true
	case "numactl":
		return grammar{opts: "i,interleave: p,preferred: P,preferred-many: w,weighted-interleave: m,membind: " +
			"N,cpunodebind: C,physcpubind: c,cpubind: l,localalloc b,balancing a,all s,show! H,hardware! S: f: " +
			"o: L: M: t T V"}, true
	case "prlimit":
		return grammar{opts: "c,core? d,data? e,nice? f,fsize? i,sigpending? l,memlock? m,rss? n,nofile? " +
			"q,msgqueue? r,rtprio? " +
			"s,stack? t,cpu? u,nproc? v,as? x,locks? y,rttime? o,output: p,pid! noheadings raw verbose V! h!"}, true
	case "setarch", "linux32", "i386", "i686", "x86_64", "uname26":
		g := grammar{opts: "B,32bit F,fdpic-funcptrs I,short-inode L,addr-compat-layout R,addr-no-randomize " +
			"S,whole-seconds T,sticky-timeouts X,read-implies-exec Z,mmap-page-zero 3,3gb 4gb uname-2.6 " +
			"v,verbose list! " +
			"show? p,pid: V! h!", tail: "~arch"}
		if name != "setarch" {
			g.tail = tailArgv
		}
		return g, true
	case "arch":
		return grammar{opts: "arch: 32 64 c d: e: h! i386 x86_64 x86_64h arm64 arm64e", single: true}, true
	case "flock":
		return grammar{opts: "s,shared x,e,exclusive u,unlock n,nb,nonblock w,wait,timeout: " +
			"E,conflict-exit-code: c,command=sh " +
			"o,close F,no-fork fcntl verbose V! h!", skip: 1, mixed: true}, true
	case "lockf":
		return grammar{opts: "k n p s t: w", skip: 1}, true
	case "setlock", "s6-setlock":
		return grammar{opts: "n N x X d r w t:", skip: 1}, true
	case "exec":
		return grammar{opts: "a: c l"}, true
	case "command":
		return grammar{opts: "p v! V!"}, true
	case "watch":
		return grammar{opts: "b,beep c,color C,no-color d differences? e,errexit f,follow g,chgexit n,interval: " +
			"p,precise " +
			"q,equexit: r,no-rerun s,shotsdir: t,no-title w,no-wrap x,exec^ V! v! h!", tail: tailShell}, true
	case "caffeinate":
		return grammar{opts: "d i m s u t: w!"}, true
	case "systemd-run":
		return grammar{opts: "no-ask-password scope u,unit: p,property: description: slice: slice-inherit " +
			"r,remain-after-exit " +
			"expand-environment: send-sighup service-type: uid: gid: nice: working-directory: d,same-dir " +
			"E,setenv: t,pty " +
			"P,pipe q,quiet on-active: on-boot: on-startup: on-unit-active: on-unit-inactive: on-calendar: " +
			"timer-property: " +
			"path-property: socket-property: no-block wait G,collect S,shell$ job-mode: ignore-failure " +
			"background: user " +
			"system H,host: M,machine: C,capsule: T,pty-late v,verbose"}, true
	case "systemd-inhibit":
		return grammar{opts: "what: who: why: mode: list! no-pager no-legend no-ask-password"}, true
	case "systemd-cat":
		return grammar{opts: "t,identifier: p,priority: stderr-priority: level-prefix: namespace:"}, true
	case "start-stop-daemon":
		return grammar{opts: "S,start K,stop! T,status! x,exec=head a,startas=head p,pidfile: ppid: u,user: " +
			"n,name: c,chuid: " +
			"g,group: k,umask: r,chroot: d,chdir: b,background C,no-close O,output: N,nicelevel: P,procsched: " +
			"I,iosched: " +
			"m,make-pidfile remove-pidfile i,interpreter: s,signal: R,retry: notify-await notify-timeout: t,test " +
			"o,oknodo " +
			"q,quiet v,verbose"}, true
	case "daemonize", "daemon":
		return grammar{opts: "a c: e: E: l: o: p: u: v n,name: f r,respawn D,chdir: U,unsafe"}, true
	case "cgexec":
		return grammar{opts: "g: sticky c b r h!"}, true
	case "nocache", "ksm", "schedtool", "trickle":
		switch name {
		case "nocache":
			return grammar{opts: "n:"}, true
		case "schedtool":
			return grammar{opts: "a: p: n: N F R B D I E e@ v r!"}, true
		case "trickle":
			return grammar{opts: "u: d: w: t: l: n: s v V! h!"}, true
		}
	}
	return grammar{}, false
}

// jails are programs that run a command with another root, network, display or set of files.
func jails(name string) (grammar, bool) {
	switch name {
	case "unshare":
		return grammar{opts: "m u i n p U C T mount? uts? ipc? net? pid? user? cgroup? time? f,fork mount-proc? " +
			"mount-binfmt? " +
			"kill-child? propagation: setgroups: l,load-interp: R,root: w,wd: S,setuid: G,setgid: monotonic: " +
			"boottime: " +
			"map-user: map-group: map-users: map-groups: r,map-root-user c,map-current-user map-auto map-subids " +
			"owner: " +
			"forward-signals keep-caps V! h!", stdin: kindShell}, true
	case "nsenter": // what -m and its kin take is attached
		return grammar{opts: "a,all t,target: m,mount? u,uts? i,ipc? n,net? N,net-socket: p,pid? U,user? " +
			"C,cgroup? T,time? " +
			"S,setuid: G,setgid: user-parent preserve-credentials keep-caps r,root? w,wd? W,wdns: e,env F,no-fork " +
			"Z,follow-context c,join-cgroup V! h!", stdin: kindShell}, true
	case "ip":
		return grammar{opts: "n,netns: b,batch=f.ip f,family: rc,rcvbuf: l,loops: c,color? V,Version! 4 6 B 0 " +
			"a,all s,stats d,details " +
			"r,resolve o,oneline N,Numeric j,json p,pretty iec h,human br,brief t,timestamp ts,tshort echo " +
			"force", single: true,
			verbs: "ip"}, true
	case "bwrap": // options take as many words as their names say
		return grammar{opts: "unshare-all share-net unshare-user unshare-user-try unshare-ipc unshare-pid " +
			"unshare-net unshare-uts " +
			"unshare-cgroup unshare-cgroup-try die-with-parent new-session clearenv disable-userns " +
			"assert-userns-disabled " +
			"as-pid-1 level-prefix args: argv0: userns: userns2: pidns: uid: gid: hostname: chdir: unsetenv: " +
			"lock-file: " +
			"sync-fd: remount-ro: exec-label: file-label: proc: dev: tmpfs: mqueue: dir: seccomp: " +
			"add-seccomp-fd: block-fd: " +
			"userns-block-fd: info-fd: json-status-fd: cap-add: cap-drop: perms: size: overlay-src: tmp-overlay: " +
			"ro-overlay: " +
			"setenv:: bind:: bind-try:: dev-bind:: dev-bind-try:: ro-bind:: ro-bind-try:: bind-fd:: ro-bind-fd:: " +
			"file:: " +
			"bind-data:: ro-bind-data:: symlink:: chmod:: overlay:::"}, true
	case "firejail":
		return grammar{lenient: true, opts: "join! list! top! tree! shutdown! ls! get! put! cat!"}, true
	case "proot":
		return grammar{opts: "r,rootfs: b,bind,m,mount: q,qemu: w,pwd,cwd: R: S: k,kernel-release: v,verbose: " +
			"kill-on-exit 0,root-id " +
			"i,change-id: p: n: l,link2symlink H sysvipc netcoop cap V! h!", single: true, stdin: kindShell}, true
	case "fakeroot", "fakeroot-ng", "pseudo":
		return grammar{opts: "l,lib: faked: i: s: b: u,unknown-is-real p: v,version! h!", stdin: kindShell}, true
	case "fakechroot":
		return grammar{opts: "s,use-system-libs e,environment: c,config-dir: l,lib: d,elfloader: b,bindir: v! h!",
			stdin: kindShell}, true
	case "systemd-nspawn":
		return grammar{opts: "q,quiet settings: D,directory: template: x,ephemeral i,image: oci-bundle: " +
			"read-only volatile? " +
			"root-hash: verity-data: pivot-root: a,as-pid2 b,boot! chdir: E,setenv: u,user: kill-signal: " +
			"notify-ready: " +
			"suppress-sync: M,machine: hostname: uuid: S,slice: property: register: keep-unit private-users? " +
			"private-users-ownership: U private-network network-interface: network-macvlan: network-ipvlan: " +
			"n,network-veth " +
			"network-veth-extra: network-bridge: network-zone: network-namespace-path: p,port: Z,selinux-context: " +
			"L,selinux-apifs-context: capability: drop-capability: ambient-capability: no-new-privileges? " +
			"system-call-filter: rlimit: oom-score-adjust: cpu-affinity: personality: resolv-conf: timezone: " +
			"link-journal: " +
			"j bind: bind-ro: inaccessible: tmpfs: overlay: overlay-ro: bind-user: console: P,pipe no-pager cleanup",
			remote: true}, true
	case "schroot", "dchroot":
		return grammar{opts: "c,chroot: u,user: d,directory: p,preserve-environment q,quiet v,verbose a,all " +
			"all-chroots b! e! l! i! " +
			"r,run-session s,shell: o,option: n,session-name: f,force", stdin: kindShell, remote: true}, true
	case "arch-chroot", "artix-chroot":
		return grammar{opts: "N r u: h!", skip: 1, stdin: kindShell, remote: true}, true
	case "torsocks", "torify":
		return grammar{opts: "u,user: a,address: p,pass: P,port: i,isolate d,debug q,quiet shell! on! off! " +
			"version! h!"}, true
	case "tsocks", "usewithtor", "proxybound":
		return grammar{}, true
	case "proxychains", "proxychains4":
		return grammar{opts: "f: q"}, true
	case "dbus-run-session":
		return grammar{opts: "config-file: dbus-daemon:"}, true
	case "dbus-launch":
		return grammar{opts: "exit-with-session exit-with-x11 autolaunch: binary-syntax close-stderr sh-syntax " +
			"csh-syntax config-file:"}, true
	case "xvfb-run":
		return grammar{opts: "a,auto-servernum d,auto-display e,error-file: f,auth-file: l,listen-tcp " +
			"n,server-num: p,xauth-protocol: " +
			"s,server-args: w,wait:"}, true
	case "ssh-agent":
		return grammar{opts: "a: c d D E: k! O: P: s t:"}, true
	case "gpg-agent":
		return grammar{opts: "daemon server! quiet q verbose v sh s csh c options: homedir: default-cache-ttl: " +
			"max-cache-ttl: " +
			"enable-ssh-support"}, true
	}
	return grammar{}, false
}

// small are programs that start one command, or texts for a shell, and do little else.
func small(name string) (grammar, bool) {
	switch name {
	case "script", "scriptlive":
		return grammar{opts: "a,append c,command=sh E,echo: e,return f,flush force q,quiet I,log-in: O,log-out: " +
			"B,log-io: " +
			"T,log-timing: m,logging-format: o,output-limit: t,timing? k d r V! h!", skip: 1, mixed: true,
			stdin: kindShell}, true
	case "pee", "mispipe", "concurrently", "run-p", "run-s":
		return grammar{opts: "n,names: c,prefix-colors: p,prefix: k,kill-others kill-others-on-fail success,s: " +
			"r,raw g,group " +
			"m,max-processes: i restart-tries: restart-after: handle-input ignore-sigpipe no-ignore-sigpipe " +
			"ignore-write-errors no-ignore-write-errors", tail: tailEach}, true
	case "rlwrap":
		return grammar{opts: "a,always-readline? A,ansi-colour-aware? b,break-chars: c,complete-filenames " +
			"C,command-name: " +
			"D,history-no-dupes: e,extra-char-after-completion: E,ansi-colour-aware f,file: F,history-format: " +
			"g,forget-matching: " +
			"H,history-filename: i,case-insensitive I,pass-sigint-as-sigterm l,logfile: m,multi-line? " +
			"M,multi-line-ext: n " +
			"N,no-children o,one-shot O,only-cook: p,prompt-colour? P,pre-given: q,quote-characters: r,remember " +
			"R s,histsize: " +
			"S,substitute-prompt: t,set-term-name: U w,wait-before-prompt: W z,filter=sh+ v! h!"}, true
	case "tini", "dumb-init", "catatonit", "docker-init":
		return grammar{opts: "s p: v c g w e: l r,rewrite: single-child verbose V! h!"}, true
	case "s6-svscan", "execlineb":
		return grammar{opts: "c=t.execline P p e W q w n: s:", stops: true, tail: "f.execline"}, true
	case "ld.so", "ld-linux.so.2", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1", "ld-linux-armhf.so.3",
		"ld64.so.2",
		"ld-musl-x86_64.so.1", "ld-musl-aarch64.so.1", "ld-linux.so.3", "ld-2.31.so", "ld64.so.1":
		return grammar{opts: "list! verify! list-tunables! list-diagnostics! library-path: glibc-hwcaps-prepend: " +
			"glibc-hwcaps-mask: " +
			"inhibit-cache inhibit-rpath: audit=f.native+ preload=f.native+ argv0:"}, true
	case "wait-for-it", "wait-for-it.sh", "wait-for":
		return grammar{opts: "h,host: p,port: t,timeout: s,strict q,quiet", tail: tailAfter}, true
	case "dockerize":
		return grammar{opts: "wait: timeout: wait-retry-interval: wait-http-header: template: stdout: stderr: " +
			"delims: env: poll " +
			"no-overwrite validate-cert skip-tls-verify multiline env-section: env-header: eof-template " +
			"version!", single: true}, true
	case "hyperfine":
		return grammar{opts: "w,warmup: m,min-runs: M,max-runs: r,runs: s,setup=sh+ p,prepare=sh+ c,cleanup=sh+ " +
			"C,conclude=sh+ " +
			"reference=sh+ reference-name: S,shell: N i,ignore-failure? style: sort: u,time-unit: export-csv: " +
			"export-json: " +
			"export-markdown: export-asciidoc: export-orgmode: show-output output: input: n,command-name: " +
			"P,parameter-scan::: " +
			"D,parameter-step-size: L,parameter-list:: V! h!", tail: tailEach}, true
	case "retry":
		return grammar{opts: "t,times: d,delay: m,max: b,backoff: s,sleep: u,until: v V! h!"}, true
	case "run-parts":
		return grammar{opts: "test! list! v,verbose d,debug report reverse exit-on-error stdin new-session " +
			"regex: lsbsysinit u,umask: " +
			"a,arg: V! h!", tail: "~script"}, true
	case "cross-env", "cross-env-shell", "env-cmd":
		g := grammar{assigns: true, opts: "f,file: e,environments: r,rc-file: no-override silent fallback " +
			"x,expand-envs"}
		if name == "cross-env-shell" {
			g.tail = tailShell
		}
		return g, true
	case "complete", "compgen":
		return grammar{opts: "a b c d e f g j k s u v D E I p! r! A: F: G: W: P: S: X: o: C=shx",
			tail: tailNone, lenient: true}, true
	case "bind":
		return grammar{opts: "x=~bind m: f: u: r: q: l P p S s V v X", tail: tailNone, lenient: true}, true
	case "fc":
		return grammar{opts: "l! n r e=shx+ s%", tail: "~code"}, true
	case "enable":
		return grammar{opts: "a d n p s f=f.native", tail: tailNone, lenient: true}, true
	case "envchain":
		return grammar{skip: 1}, true
	case "xterm", "uxterm", "rxvt", "urxvt", "lxterminal", "xfce4-terminal", "mate-terminal", "terminator", "konsole",
		"alacritty", "st", "foot", "tilix", "qterminal", "terminology":
		return grammar{opts: "e,x,execute,command@ T,title: geometry: g: fn: fa: fs: bg: fg: n: name: class: " +
			"display: tab hold " +
			"working-directory,workdir: p: o: t,title:", single: true, lenient: true, tail: tailNone}, true
	case "gnome-terminal", "kgx", "ptyxis":
		return grammar{opts: "e,command=sh x,execute@ tab window title: working-directory: geometry: profile: wait",
			lenient: true, tail: tailAfter}, true
	case "kitty":
		return grammar{opts: "T,title: d,directory,working-directory: o,override: c,config: class: name: hold " +
			"detach 1 single-instance " +
			"session: start-as: listen-on: instance-group: v! h!", tail: "~kitty"}, true
	case "tmux", "screen", "zellij":
		return multiplexers(name)
	case "at":
		return grammar{opts: "f=script m M l! r! d! b q: t: v c! V! u:", tail: tailNone, stdin: kindShell}, true
	case "batch":
		return grammar{opts: "f=script m M q: V!", tail: tailNone, stdin: kindShell}, true
	}
	return grammar{}, false
}

func multiplexers(name string) (grammar, bool) {
	switch name {
	case "tmux":
		return grammar{opts: "2 C D l N u v V! c=sh f=f.tmux+ L: S: T:", verbs: "tmux"}, true
	case "zellij":
		return grammar{opts: "c,config: config-dir: data-dir: d,debug l,layout: s,session: max-panes:",
			verbs: "zellij"}, true
	}
	return grammar{opts: "4 6 a A c: C d D e: f fn fa h: i l ls! list! L Logfile: m n O p: q Q r R s: S: t: T: U " +
		"v! wipe! x X=~stuff dm dmS: " +
		"RR xRR DR dr dR DRR", single: true, lenient: true}, true
}
