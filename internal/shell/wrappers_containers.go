package shell

const kubectlGlobal = "n,namespace: context: cluster: kubeconfig: user: as: as-group: as-uid: s,server: token: " +
	"v,v: vmodule: " +
	"request-timeout: cache-dir: certificate-authority: client-certificate: client-key: insecure-skip-tls-verify " +
	"match-server-version " +
	"tls-server-name: warnings-as-errors disable-compression kuberc: log-flush-frequency: profile: " +
	"profile-output: password: username: h!"

const dockerRun = "add-host: annotation: a,attach: blkio-weight: blkio-weight-device: cap-add: cap-drop: " +
	"cgroup-parent: cgroupns: " +
	"cidfile: cpu-count: cpu-percent: cpu-period: cpu-quota: cpu-rt-period: cpu-rt-runtime: c,cpu-shares: cpus: " +
	"cpuset-cpus: " +
	"cpuset-mems: d,detach detach-keys: device: device-cgroup-rule: device-read-bps: device-read-iops: " +
	"device-write-bps: " +
	"device-write-iops: disable-content-trust dns: dns-option,dns-opt: dns-search: domainname: entrypoint=head " +
	"e,env: env-file: expose: " +
	"gpus: group-add: health-cmd=sh+ health-interval: health-retries: health-start-interval: " +
	"health-start-period: health-timeout: help! " +
	"h,hostname: init i,interactive io-maxbandwidth: io-maxiops: ip: ip6: ipc: isolation: kernel-memory: " +
	"l,label: label-file: link: " +
	"link-local-ip: log-driver: log-opt: mac-address: m,memory: memory-reservation: memory-swap: " +
	"memory-swappiness: mount: name: " +
	"net,network: net-alias,network-alias: no-healthcheck oom-kill-disable oom-score-adj: pid: pids-limit: " +
	"platform: privileged " +
	"p,publish: P,publish-all pull: q,quiet read-only restart: rm runtime: security-opt: shm-size: sig-proxy " +
	"stop-signal: stop-timeout: " +
	"storage-opt: sysctl: tmpfs: t,tty ulimit: use-api-socket u,user: userns: uts: v,volume: volume-driver: " +
	"volumes-from: w,workdir: " +
	"arch: authfile: conmon-pidfile: env-host env-merge: gidmap: uidmap: hooks-dir: hostuser: http-proxy " +
	"image-volume: init-path: no-hosts " +
	"os: passwd passwd-entry: personality: pidfile: pod: pod-id-file: preserve-fds: preserve-fd: replace " +
	"requires: retry: retry-delay: rmi " +
	"rootfs sdnotify: seccomp-policy: secret: shm-size-systemd: subgidname: subuidname: systemd: timeout: " +
	"tls-verify tz: umask: unsetenv: " +
	"unsetenv-all variant: chrootdirs: decryption-key: group-entry: no-hostname snapshotter:"

func containerVerb(key, verb string) (grammar, bool) {
	remote := func(opts string) (grammar, bool) { return grammar{opts: opts, skip: 1, remote: true}, true }
	switch key {
	case "docker":
		switch verb {
		case "exec":
			return remote("d,detach detach-keys: e,env: env-file: i,interactive privileged t,tty u,user: " +
				"w,workdir: l,latest preserve-fds: " +
				"preserve-fd: cidfile: no-session")
		case "run", "create":
			return remote(dockerRun)
		case "container":
			return grammar{verbs: "docker"}, true
		case "compose":
			return grammar{opts: "f,file: p,project-name: profile: env-file: project-directory: ansi: progress: " +
				"parallel: compatibility dry-run " +
				"all-resources H,host: c,context: verbose log-level: tls no-ansi podman-path: podman-args: " +
				"podman-run-args: in-pod: pod-args:",
				verbs: "docker compose", label: ""}, true
		case "unshare":
			return grammar{opts: "rootless-netns rootless-cni"}, true
		case "machine":
			return grammar{verbs: "docker machine", lenient: true}, true
		}
	case "docker compose":
		switch verb {
		case "exec":
			return remote("d,detach e,env: index: T,no-tty,no-TTY,disable-pseudo-tty u,user: w,workdir: " +
				"privileged dry-run i,interactive t,tty env-file:")
		case "run":
			return remote("d,detach,detached build cap-add: cap-drop: entrypoint=~entry e,env: env-from-file: " +
				"i,interactive l,label: name: T,no-TTY,no-tty " +
				"no-deps p,publish: pull: q,quiet quiet-build quiet-pull remove-orphans rm P,service-ports " +
				"use-aliases u,user: v,volume: w,workdir: " +
				"dry-run t,tty")
		}
	case "kubectl":
		switch verb {
		case "exec", "rsh":
			return grammar{opts: kubectlGlobal + " c,container: f,filename: pod-running-timeout: q,quiet i,stdin " +
				"t,tty T,no-tty shell: timeout:", skip: 1,
				mixed: true, remote: true, dashed: true, lenient: true}, true
		case "run", "debug", "create", "attach":
			return grammar{opts: kubectlGlobal + " image: c,container: it", lenient: true, tail: tailAfter,
				remote: true}, true
		case "kubectl":
			return grammar{verbs: "kubectl", opts: kubectlGlobal}, true
		}
	case "lxc":
		if verb == "exec" {
			return grammar{opts: "cwd: disable-stdin,n env: T,force-noninteractive t,force-interactive group: " +
				"mode: user: project: verbose debug q,quiet",
				skip: 1, mixed: true, remote: true, dashed: true}, true
		}
	default: // k3s kubectl …
		if verb == "kubectl" {
			return grammar{verbs: "kubectl", opts: kubectlGlobal}, true
		}
		if verb == "ssh" {
			return grammar{opts: "n,node: native-ssh p,profile:", lenient: true, tail: tailShell, remote: true}, true
		}
		if verb == "crictl" || verb == "ctr" {
			return grammar{verbs: verb, lenient: true}, true
		}
	}
	return grammar{}, false
}
