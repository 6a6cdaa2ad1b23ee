package shell

// runners are programs of which some verbs run a command: see verbOf.
func runners(name string) (grammar, bool) {
	verbs := func(opts string) (grammar, bool) { return grammar{opts: opts, verbs: name, lenient: true}, true }
	switch name {
	case "npm":
		return verbs("w,workspace: prefix: C: loglevel: registry: userconfig: script-shell=~first+")
	case "pnpm", "pnpx":
		if name == "pnpx" {
			return grammar{opts: "package: c,shell-mode$ allow-build: silent", lenient: true}, true
		}
		return verbs("F,filter,filter-prod: C,dir: loglevel: reporter: script-shell=~first+ " +
			"config.script-shell=~first+")
	case "yarn", "yarnpkg":
		return grammar{opts: "cwd: use-yarnrc: registry: cache-folder: modules-folder: mutex:", verbs: "yarn",
			lenient: true}, true
	case "npx":
		return grammar{opts: "p,package: c,call=sh w,workspace: workspaces,ws include-workspace-root y,yes no " +
			"no-install q,quiet userconfig: " +
			"cache: shell: s,script-shell: n,node-arg: prefer-offline offline prefer-online ignore-existing " +
			"shell-auto-fallback? loglevel: " +
			"registry: silent ignore-scripts legacy-peer-deps force d verbose P V v!"}, true
	case "bunx":
		return grammar{opts: "bun p,package: verbose silent"}, true
	case "bun":
		return grammar{opts: "e,eval=t.javascript p,print=t.javascript r,preload=~require+ import=~require+ cwd: " +
			"c,config? env-file: F,filter: " +
			"shell: port: b,bun watch hot smol i silent d,define: l,loader: v! h!", verbs: "bun",
			stdin: "javascript"}, true
	case "uv":
		return verbs("directory: project: config-file: cache-dir: color: python-preference: allow-insecure-host: " +
			"q v n")
	case "uvx":
		return verbOf("uv tool", "run")
	case "pipx":
		return verbs("")
	case "poetry":
		return verbs("C,directory: P,project: q,quiet n,no-interaction v vv vvv ansi no-ansi no-plugins no-cache")
	case "pipenv":
		return verbs("python: pypi-mirror: q v")
	case "pdm", "rye":
		return verbs("c,config: p,project: I V q v")
	case "hatch":
		return verbs("e,env: p,project: data-dir: cache-dir: config:")
	case "pixi":
		return verbs("color: manifest-path:")
	case "conda", "mamba", "micromamba":
		return verbs("r,root-prefix: rc-file:")
	case "bundle", "bundler":
		return verbs("r,retry:")
	case "composer", "gem":
		return verbs("d,working-dir:")
	case "cargo":
		return verbs("C: Z: config: color: offline locked frozen q v")
	case "go":
		return verbs("C:")
	case "nix":
		return verbs("option:: extra-experimental-features,experimental-features: log-format: j,max-jobs: cores: " +
			"I: store: eval-store: L,print-build-logs")
	case "guix":
		return verbs("")
	case "direnv", "mise", "rtx", "asdf", "pyenv", "rbenv", "nodenv", "jenv", "goenv", "nvm", "fnm", "volta",
		"aws-vault", "op", "doppler",
		"chamber", "teller", "infisical", "dotenvx", "sops", "vault", "envconsul", "ip-netns", "lerna", "nx",
		"turbo", "rush", "wasp",
		"corepack", "devbox", "flox", "spack", "module", "summon", "phase", "berglas":
		if name == "rush" { // two programs have that name
			return grammar{opts: "j,jobs: d,field-delimiter: D,record-delimiter: i,infile: n,nrecords: t,timeout: " +
				"r,retries: T,trim: v,assign: e,stop-on-error c,continue k,keep-order dry-run! o: to: from: p,project:",
				tail: "~rush", lenient: true}, true
		}
		if name == "envconsul" || name == "summon" {
			return grammar{opts: "f: p: e: D: yaml: prefix: secret: once", lenient: true}, true
		}
		return verbs("C,cd: l,log-level: P,profile: E,env: j,jobs: d,debug backend: prompt: account: config: " +
			"session: token: configuration: " +
			"scope: installed-shim: shell: fnm-dir: node-dist-mirror:")
	case "dotenv":
		return grammar{opts: "f,file: e: c? v: q,quote: p: o override,overload", lenient: true, dashed: true,
			tail: "~dotenv"}, true
	case "docker", "podman", "nerdctl":
		return grammar{opts: "config: c,context: D,debug H,host: l,log-level: tls tlscacert: tlscert: tlskey: " +
			"tlsverify n,namespace: a,address: " +
			"data-root: root: runroot: storage-driver: storage-opt: tmpdir: url: identity: r,remote connection: " +
			"cgroup-manager: events-backend: " +
			"conmon: module: network-cmd-path: runtime: runtime-flag: volumepath: noout out: transient-store " +
			"imagestore: syslog ssh: v! h!",
			verbs: "docker"}, true
	case "docker-compose", "podman-compose":
		return verbOf("docker", "compose")
	case "kubectl", "oc", "k3s", "microk8s", "minikube", "k0s", "kubecolor":
		g := grammar{opts: kubectlGlobal, verbs: "kubectl"}
		if name != "kubectl" && name != "oc" && name != "kubecolor" {
			g.verbs, g.lenient = name, true
		}
		return g, true
	case "lxc", "incus":
		return grammar{opts: "project: q,quiet v,verbose debug force-local sub-commands", verbs: "lxc"}, true
	case "crictl", "ctr", "flatpak", "distrobox", "toolbox", "snap", "multipass", "limactl", "lima", "colima",
		"pct", "machinectl", "adb",
		"heroku", "flyctl", "fly", "gcloud", "aws", "az", "buildah", "apptainer", "singularity", "orb",
		"orbctl", "waypoint", "nomad":
		if name == "lima" {
			return grammar{remote: true, stdin: kindShell}, true
		}
		return grammar{opts: "r,runtime-endpoint: i,image-endpoint: t,timeout: c,config: a,address: n,namespace: " +
			"s: H: P: L: D,debug user system " +
			"installation: root: name: zone: project: region: profile: M,machine: H,host: q,quiet no-pager",
			verbs: name, lenient: true}, true
	case "lerna-exec":
		return grammar{}, false
	case "fakeit":
		return grammar{}, false
	}
	return grammar{}, false
}

const uvRun = "with: with-editable: with-requirements: extra: all-extras no-extra: no-dev group: no-group: " +
	"no-default-groups only-group: " +
	"all-groups dev only-dev m,module=~pymod no-editable exact env-file: no-env-file active isolated inexact " +
	"no-sync locked frozen s,script=f.python " +
	"gui-script=f.python all-packages package: no-project index: default-index: i,index-url: extra-index-url: " +
	"f,find-links: no-index " +
	"index-strategy: keyring-provider: U,upgrade P,upgrade-package: resolution: prerelease: fork-strategy: " +
	"exclude-newer: no-sources reinstall " +
	"reinstall-package: link-mode: compile-bytecode C,config-setting: no-build-isolation " +
	"no-build-isolation-package: no-build " +
	"no-build-package: no-binary no-binary-package: n,no-cache cache-dir: refresh refresh-package: p,python: " +
	"managed-python " +
	"no-managed-python python-platform: no-python-downloads q,quiet v,verbose color: native-tls offline " +
	"allow-insecure-host: no-progress directory: project: " +
	"config-file: no-config w: python-preference: show-settings max-recursion-depth: env-file: from: " +
	"torch-backend: lfs overrides: b,build-constraints: c,constraints: h!"

// runnerVerb returns what the verbs of package managers, environments and clouds run.
func runnerVerb(key, verb string) (grammar, bool) {
	remote := func(opts string, skip int) (grammar, bool) {
		return grammar{opts: opts, skip: skip, remote: true, lenient: true, dashed: true}, true
	}
	switch key + " " + verb {
	case "npm exec", "npm x":
		return grammar{opts: "p,package: c,call=sh w,workspace: workspaces,ws include-workspace-root y,yes no " +
			"prefix: prefer-offline offline loglevel: silent s q,quiet"}, true
	case "npm explore":
		return grammar{opts: "shell:", skip: 1}, true
	case "npm pkg":
		return grammar{verbs: "npm pkg", lenient: true}, true
	case "npm pkg set":
		return grammar{lenient: true, tail: "~scripts"}, true
	case "npm config":
		return grammar{}, false
	case "pnpm exec", "pnpm dlx":
		return grammar{opts: "c,shell-mode$ package: F,filter: r,recursive parallel reporter-hide-prefix " +
			"no-reporter-hide-prefix resume-from: report-summary " +
			"no-bail stream aggregate-output workspace-root,w workspace-concurrency: C,dir: silent,s " +
			"allow-build: s"}, true
	case "yarn exec":
		return grammar{opts: ""}, true
	case "yarn dlx":
		return grammar{opts: "p,package: q,quiet"}, true
	case "yarn node":
		return grammar{tail: "~node"}, true
	case "yarn workspace":
		return grammar{tail: "~yarnspace"}, true
	case "yarn workspaces":
		return grammar{tail: "~workspaces"}, true
	case "yarn foreach":
		return grammar{opts: "A,all v,verbose p,parallel i,interlaced j,jobs: t,topological topological-dev " +
			"R,recursive W,worktree from: since? include: " +
			"exclude: private no-private n,dry-run", verbs: "yarn", lenient: false}, true
	case "bun x":
		return runners("bunx")
	case "bun run", "bun exec":
		if verb == "exec" {
			return grammar{tail: tailShell}, true
		}
		return grammar{opts: "r,preload=~require+ cwd: F,filter: env-file: b,bun", lenient: true, tail: "~file"}, true
	case "uv run", "uv tool", "uv x", "uv tool run":
		switch key + " " + verb {
		case "uv tool":
			return grammar{verbs: "uv tool", lenient: true}, true
		case "uv tool run", "uv x":
			return grammar{opts: uvRun, label: "uv"}, true
		}
		return grammar{opts: uvRun, tail: "~python", stdin: ""}, true
	case "pipx run":
		return grammar{opts: "no-cache path pypackages spec: q,quiet v,verbose python: system-site-packages " +
			"i,index-url: editable,e pip-args: backend: " +
			"with: fetch-missing-python"}, true
	case "pipx runpip":
		return grammar{}, false
	case "poetry run", "pipenv run", "pdm run", "rye run", "hatch run", "pixi run":
		return grammar{opts: "s,site-packages l,list! C,directory: P,project: p,project: recreate env-file: q v " +
			"no-self j,json u,unset: e,environment,env: " +
			"manifest-path: frozen locked f: i,include: x,exclude: force-container no-install as-is clean-env " +
			"skip-deps n,dry-run"}, true
	case "conda run", "mamba run", "micromamba run", "conda exec", "mamba exec", "micromamba exec":
		return grammar{opts: "n,name: p,prefix: cwd: no-capture-output,live-stream dev debug-wrapper-scripts " +
			"v,verbose a,attach: clean-env e,env: detach,d label: " +
			"s,no-capture-output q,quiet y,yes r,root-prefix:"}, true
	case "bundle exec", "bundler exec", "composer exec", "gem exec":
		return grammar{opts: "keep-file-descriptors no-keep-file-descriptors gemfile: g,gem: v,version: " +
			"conservative l,list!"}, true
	case "nix develop", "nix shell", "nix run", "nix-develop", "nix env":
		if verb == "run" {
			return grammar{}, false
		}
		return grammar{opts: "c,command@ k,keep,keep-env-var: u,unset-env-var: i,ignore-env,ignore-environment " +
			"profile: redirect:: phase: f,file: expr: I: " +
			"override-input:: arg:: argstr:: inputs-from: override-flake:: update-input: reference-lock-file: " +
			"output-lock-file: s,set-env-var:: " +
			"option:: impure accept-flake-config no-write-lock-file refresh offline L,print-build-logs build " +
			"check configure install unpack " +
			"j,max-jobs: extra-experimental-features,experimental-features: debugger v,verbose quiet stdin",
			tail: tailNone, lenient: true}, true
	case "guix shell", "guix environment", "guix time-machine":
		return grammar{opts: "m: e: f: D: p: r: s: l: L: u: E: S: C N F P n v: K q", lenient: true,
			tail: tailAfter}, true
	case "direnv exec":
		return grammar{skip: 1}, true
	case "mise exec", "mise x", "rtx exec", "rtx x", "mise en":
		return grammar{opts: "c,command=sh j,jobs: raw no-prepare fresh-env q y v C,cd: E,env: " +
			"minimum-release-age:", tail: tailAfter}, true
	case "asdf exec", "pyenv exec", "rbenv exec", "nodenv exec", "jenv exec", "goenv exec":
		return grammar{}, true
	case "asdf env":
		return grammar{skip: 1}, true
	case "nvm exec", "nvm run":
		if verb == "run" {
			return grammar{}, false
		}
		return grammar{opts: "silent lts? latest", skip: 1}, true
	case "fnm exec":
		return grammar{opts: "using: fnm-dir: log-level: arch: node-dist-mirror: using-file " +
			"version-file-strategy: corepack-enabled resolve-engines?"}, true
	case "volta run":
		return grammar{opts: "node: npm: pnpm: yarn: bundled-npm no-pnpm no-yarn env: verbose quiet"}, true
	case "aws-vault exec", "chamber exec", "op run", "doppler run", "teller run", "infisical run", "dotenvx " +
		"run", "dotenv run", "envchain exec",
		"devbox run", "spack build-env", "summon run", "phase run", "berglas exec", "vault exec":
		return grammar{opts: "command=sh c,config: p,project: env-file,f: env: path: e: d,duration: n,no-session " +
			"s,server ec2-server region: t,mfa-token: prompt: " +
			"o: overload convention: account: no-masking fallback: mount: mount-format: mount-template: " +
			"name-transformer: preserve-env? token: " +
			"projectId: expand include-imports tags: j json ignore: strict quiet verbose watch", lenient: true,
			skip: 99, mixed: true, dashed: true}, true
	case "sops exec-env", "sops exec-file":
		return grammar{opts: "background pristine user: input-type: output-type: filename: no-fifo " +
			"same-process", lenient: true, skip: 1, tail: tailShell}, true
	case "lerna exec", "nx exec", "rush exec":
		return grammar{opts: "scope: ignore: since? concurrency: stream parallel no-bail", lenient: true,
			tail: "text"}, true
	case "flox activate":
		return grammar{opts: "c,command=sh d,dir: r,remote:", lenient: true, tail: tailAfter}, true
	case "crictl exec":
		return remote("i t s,sync timeout: e: r: I:", 1)
	case "ctr task", "ctr tasks", "ctr t":
		return grammar{verbs: "ctr task", lenient: true}, true
	case "ctr task exec":
		return remote("exec-id: cwd: user: t,tty d,detach fifo-dir: log-uri:", 1)
	case "ctr run":
		return remote("env: mount: rm t,tty d,detach label: annotation: snapshotter: cwd: env-file: runtime: "+
			"platform: user: cap-add: net-host privileged", 2)
	case "flatpak run":
		return remote("command=head arch: branch: cwd: devel runtime: env: filesystem: share: socket: device: "+
			"talk-name: d file-forwarding", 1)
	case "distrobox enter", "toolbox run", "toolbox enter":
		return remote("n,name: c,container: e@ T,no-tty a,additional-flags: r,release: d,distro: nw,no-workdir",
			map[bool]int{true: 0, false: 1}[key == "toolbox"])
	case "snap run":
		return grammar{opts: "shell& strace? gdbserver? trace-exec debug-log r: hook: command=head",
			lenient: true, skip: 1, tail: tailNone}, true
	case "multipass exec", "limactl shell", "pct exec", "nomad exec":
		return remote("d,working-directory: workdir: shell: n,no-map-working-directory task: job: i t", 1)
	case "colima ssh", "orb run", "orbctl run":
		return remote("p,profile: m,machine: u,user: w,workdir: s,shell p,path", 0)
	case "machinectl shell":
		return remote("E,setenv: uid:", 1)
	case "adb shell":
		return grammar{opts: "n t T x e:", tail: tailShell, remote: true, stdin: kindShell}, true
	case "adb exec-out", "adb exec-in":
		return grammar{tail: tailShell, remote: true}, true
	case "heroku run", "heroku run:detached":
		return grammar{opts: "a,app: r,remote: s,size: e,env: type: exit-code,x no-launcher no-tty no-notify v",
			tail: tailShell, remote: true}, true
	case "fly ssh", "flyctl ssh", "gcloud compute", "aws ecs", "az vm", "az container", "buildah run", "az " +
		"run-command":
		if verb == "run" {
			return remote("e,env: v,volume: user: mount: isolation: runtime: t,tty cap-add: cap-drop: hostname: "+
				"network: workingdir:", 1)
		}
		return grammar{verbs: key + " " + verb, lenient: true}, true
	case "fly ssh console", "flyctl ssh console":
		return grammar{opts: "C,command=sh a,app: r,region: u,user: s,select o,org: c,config: machine: " +
			"A,address: pty", lenient: true, tail: tailNone, remote: true}, true
	case "gcloud compute ssh":
		return grammar{opts: "command=sh zone: project: ssh-flag: ssh-key-file: container:", lenient: true,
			tail: tailAfter, remote: true}, true
	case "gcloud compute tpus":
		return grammar{}, false
	case "aws ecs execute-command", "az container exec":
		return grammar{opts: "command,exec-command=sh cluster: container,container-name: task: interactive " +
			"g,resource-group: n,name: profile: region:", lenient: true,
			tail: tailNone, remote: true}, true
	case "az vm run-command":
		return grammar{verbs: "az vm run-command", lenient: true}, true
	case "az vm run-command invoke":
		return grammar{opts: "scripts=sh g,resource-group: n,name: command-id: parameters:", lenient: true,
			tail: tailNone, remote: true}, true
	case "apptainer exec", "singularity exec":
		return remote("B,bind: pwd: H,home: env: env-file: S,scratch: W,workdir: overlay: o: add-caps: "+
			"drop-caps: network: dns: hostname: security: apply-cgroups: mount:", 1)
	}
	return grammar{}, false
}

func goVerb(verb string) (grammar, bool) {
	const build = "C: o: p: asmflags: buildmode: buildvcs? compiler: gccgoflags: gcflags: installsuffix: " +
		"ldflags: mod: modfile: overlay: pgo: pkgdir: tags: " +
		"toolexec=shx+ exec=shx+ vettool=~first+ run: bench: benchtime: count: cover? covermode: coverpkg: " +
		"coverprofile: cpu: cpuprofile: " +
		"fuzz: fuzztime: list: memprofile: outputdir: parallel: skip: timeout: trace: vet: blockprofile: " +
		"mutexprofile: shuffle: fuzzminimizetime: args!"
	switch verb {
	case "run":
		return grammar{opts: build, single: true, lenient: true, tail: "~file", stdin: "go"}, true
	case "build", "test", "vet", "install", "generate", "list":
		return grammar{opts: build, single: true, lenient: true, tail: tailNone}, true
	}
	return grammar{}, false
}
