package shell

import "strings"

// hosts are programs that run a command on another host.
func hosts(name string) (grammar, bool) {
	const ssh = "4 6 A a C f G! g K k M N n q s T t V! v X x Y y B: b: c: D: E: e: F: I: i: J: L: l: m: O! " +
		"o=~ssh+ P: p: Q! R: S: W: w:"
	switch name {
	case "ssh", "slogin", "gsissh", "dbclient":
		return grammar{opts: ssh, skip: 1, mixed: true, tail: tailShell, remote: true, stdin: kindShell}, true
	case "autossh": // -M takes a port there
		return grammar{opts: strings.Replace(ssh, " M ", " M: ", 1), skip: 1, mixed: true, tail: tailShell,
			remote: true, stdin: kindShell}, true
	case "mosh":
		return grammar{opts: ssh + " client: server: predict: family: port: bind-server: ssh=sh+ no-init local " +
			"experimental-remote-ip: no-ssh-pty ssh-pty predict-overwrite",
			skip: 1, mixed: true, tail: tailShell, remote: true, stdin: kindShell}, true
	case "et", "sshpass":
		if name == "sshpass" {
			return grammar{opts: "f: d: p: e v h! V! P:"}, true
		}
		return grammar{opts: "c,command=sh p,port: t: r: N x jumphost: jport:", skip: 1, lenient: true,
			tail: tailNone, remote: true}, true
	case "rsh", "remsh", "rexec":
		return grammar{opts: "l: n d K 4 6 8 E L x", skip: 1, mixed: true, tail: tailShell, remote: true,
			stdin: kindShell}, true
	case "pdsh", "clush", "dsh", "mussh", "dancer":
		return grammar{opts: "w: x: l: f: t: u: R: g: X: n: N b S d q V! L! h! a A i: e: m: M c P p H: F: I s v " +
			"r: o: B", tail: tailShell, remote: true}, true
	case "pssh", "parallel-ssh", "prsync":
		return grammar{opts: "h,hosts: H,host: l,user: p,par: o,outdir: e,errdir: t,timeout: O,option: v,verbose " +
			"A,askpass x,extra-args: X,extra-arg: i,inline " +
			"inline-stdout z,print-outdir P,print I,send-input g,host-glob:", tail: tailShell, remote: true}, true
	case "salt", "salt-call", "salt-ssh":
		skip := 1
		if name == "salt-call" {
			skip = 0
		}
		return grammar{opts: "E,pcre L,list G,grain N,nodegroup C,compound I,pillar S,ipcidr t,timeout: " +
			"l,log-level: c,config-dir: b,batch-size: out,output: local " +
			"f,fail-on-error a,auth: u: i r", skip: skip, tail: "~salt", remote: true, lenient: true}, true
	case "lxc-attach", "lxc-execute", "lxc-start":
		return grammar{opts: "n,name: e,elevated-privileges? a,arch: s,namespaces: R,remount-sys-proc keep-env " +
			"clear-env v,set-var: keep-var: u,uid: g,gid: c,context: " +
			"f,rcfile: L,pty-log: P,lxcpath: o,logfile: l,logpriority: q,quiet d F", remote: true,
			stdin: kindShell}, true
	case "wsl", "wsl.exe":
		return grammar{opts: "d,distribution: u,user: cd: e,exec^ system shell-type: distribution-id: l! list! " +
			"install! shutdown! t! terminate! status! update! " +
			"export! import! set-version! unregister! mount! unmount!", tail: tailShell, remote: true,
			single: false, stdin: kindShell}, true
	case "on", "winrs":
		return grammar{}, false
	}
	return grammar{}, false
}
