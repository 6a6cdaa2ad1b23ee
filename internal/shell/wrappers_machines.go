package shell

// machines are programs of which a verb runs a command on a machine that they made, rented or know.
func machines(name string) (grammar, bool) {
	switch name {
	case "gh", "coder", "devpod", "doctl", "docker-machine", "tailscale", "hcloud", "devcontainer", "container":
		return grammar{opts: "R,repo: url: token: context: config: t,access-token: s,storage-path: debug:",
			verbs: name, lenient: true}, true
	}
	return grammar{}, false
}

// machineVerb is verbOf for them.
func machineVerb(program, verb string) (grammar, bool) {
	inner := func(opts string) (grammar, bool) {
		return grammar{opts: opts, verbs: program + " " + verb, lenient: true}, true
	}
	switch program + " " + verb {
	case "gh codespace", "gh cs", "doctl compute", "hcloud server", "docker sandbox", "fly machine", "flyctl machine",
		"fly m", "flyctl m", "fly machines", "flyctl machines", "az ssh":
		return inner("")
	case "gh codespace ssh", "gh cs ssh":
		return grammar{opts: "c,codespace: profile: server-port: d,debug debug-file: config R,repo: repo-owner:",
			lenient: true, tail: tailShell, remote: true}, true
	case "coder ssh", "docker-machine ssh", "tailscale ssh", "hcloud server ssh", "fly machine exec",
		"flyctl machine exec", "fly m exec", "flyctl m exec", "fly machines exec", "flyctl machines exec":
		return grammar{opts: "u,user: p,port: a,app: timeout: wait: identity-agent: e,env:", skip: 1, mixed: true,
			lenient: true, tail: tailShell, remote: true}, true
	case "devpod ssh", "doctl compute ssh", "docker debug":
		return grammar{opts: "command,ssh-command=sh c=sh user: workdir: shell: host: ssh-user: ssh-key-path: ssh-port:",
			lenient: true, tail: tailNone, remote: true}, true
	case "devcontainer exec":
		return grammar{opts: "workspace-folder: container-id: id-label: config: override-config: docker-path: " +
			"docker-compose-path: mount-workspace-git-root: remote-env: log-level: log-format: user-data-folder:",
			remote: true, lenient: true}, true
	case "docker sandbox exec", "container exec":
		return grammar{opts: "d,detach e,env: env-file: i,interactive t,tty u,user: w,workdir: gid: uid: privileged",
			skip: 1, remote: true, lenient: true}, true
	case "container run", "container create":
		return grammar{opts: dockerRun, skip: 1, remote: true, lenient: true}, true
	case "fly machine run", "flyctl machine run", "fly m run", "flyctl m run":
		return grammar{opts: "a,app: r,region: n,name: e,env: p,port: v,volume: vm-size: vm-memory: entrypoint=head",
			skip: 1, remote: true, lenient: true}, true
	case "docker machine ssh": // [NAME] COMMAND
		return grammar{opts: "username:", lenient: true, tail: "~maybe-named", remote: true}, true
	case "az ssh vm", "az ssh arc":
		return grammar{opts: "g,resource-group: n,vm-name,name: ip,hostname: p,port: local-user: f,private-key-file:",
			lenient: true, tail: tailAfter, remote: true}, true
	}
	return grammar{}, false
}
