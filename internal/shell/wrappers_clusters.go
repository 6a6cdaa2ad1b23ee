package shell

import (
	"regexp"
	"strings"
	"sync"
)

// clusters are programs that run a command on machines of a cluster, or by a desktop.
func clusters(name string) (grammar, bool) {
	const jobs = "J,job-name: o,output: e,error: n,ntasks: N,nodes: c,cpus-per-task: t,time: p,partition: mem: A,account: " +
		"q,qos: D,chdir: a,array: d,dependency: export: gres: G,gpus: w,nodelist: x,exclude: C,constraint: " +
		"ntasks-per-node: jobid: pty? l,label Q,quiet v,verbose H,hold W,wait"
	switch name {
	case "sbatch":
		return grammar{opts: jobs + " wrap=sh", lenient: true, tail: tailNone}, true
	case "srun", "salloc":
		return grammar{opts: jobs, lenient: true, remote: true}, true
	case "tsh":
		return grammar{opts: "proxy: l,login: user: cluster: i,identity: ttl: auth: d,debug", verbs: "tsh", lenient: true}, true
	case "fab":
		return grammar{opts: "H,hosts: i,identity: u,user: r,search-root: c,collection: f,config: t,connect-timeout: T:",
			lenient: true, tail: tailAfter, remote: true}, true
	case "xdotool":
		return grammar{verbs: "xdotool", lenient: true}, true
	case "lftp":
		return grammar{opts: "c=t.lftp e=t.lftp+ f=f.lftp u,user: p: s:", lenient: true, tail: tailNone, stdin: "lftp"}, true
	}
	return grammar{}, false
}

// clusterVerb is verbOf for them.
func clusterVerb(program, verb string) (grammar, bool) {
	switch program + " " + verb {
	case "tsh ssh":
		return grammar{opts: "l,login: p,port: i,identity: L: R: D: o: cluster: t,tty A N x X Y C q", skip: 1, mixed: true,
			tail: tailShell, remote: true}, true
	case "nomad alloc":
		return grammar{verbs: "nomad alloc", lenient: true}, true
	case "nomad exec", "nomad alloc exec":
		return grammar{opts: "i t e: job task: address: region: namespace: token:", single: true, skip: 1, remote: true,
			lenient: true}, true
	case "xdotool exec":
		return grammar{opts: "sync args: terminator:", lenient: true}, true
	}
	return grammar{}, false
}

// lftpEscape finds the command of a shell in a line for lftp.
func lftpEscape(line string) (string, bool) {
	for part := range strings.SplitSeq(line, ";") {
		part = strings.TrimSpace(part)
		if code, ok := strings.CutPrefix(part, "!"); ok {
			return code, true
		}
		if code, ok := after(part, "shell", "local shell"); ok {
			return code, true
		}
	}
	return "", false
}

// sentCommands finds the list of commands in the parameters of a document, and sentText a text of it.
var (
	sentCommands = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?s)commands"?\s*[=:]\s*\[?(.*)`) })
	sentText     = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`"((?:[^"\\]|\\.)*)"`) })
)

// awsCommand walks what aws ssm send-command has other machines run.
func (w *walker) awsCommand(e *env, h handed) {
	sends := false
	for k, a := range h.args {
		sends = sends || a.Text == "send-command" || a.Text == "start-session"
		value, ok := strings.CutPrefix(a.Text, "--parameters=")
		if !ok && a.Text == "--parameters" && k+1 < len(h.args) {
			value, ok = h.args[k+1].Text, true
		}
		if !ok || !sends {
			continue
		}
		list := sentCommands().FindStringSubmatch(value)
		if list == nil {
			return
		}
		h.c.remote = true
		texts := sentText().FindAllStringSubmatch(list[1], maxUnroll)
		if len(texts) == 0 {
			texts = [][]string{{"", strings.TrimRight(list[1], "]")}}
		}
		for _, t := range texts {
			code := strings.NewReplacer(`\"`, `"`, `\\`, `\`, `\n`, "\n").Replace(t[1])
			w.maybeCode(e, w.word(code, a.Known || !ok, false, false), "aws ssm", h.c, h.i, h.raw)
		}
		return
	}
}
