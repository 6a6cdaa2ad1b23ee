package redact

import (
	_ "embed"
	"slices"
	"strings"
)

// words are common words of programs and documents in lower case, sorted, one a
// line: what scripts/common-words prints. They are what a password can be without
// everything that is logged about its action becoming unreadable.
//
//go:embed words.txt
var words string

// commonWord reports a text that says nothing by standing somewhere: a word of
// words.txt, or a name that people decide by.
func commonWord(s string) bool {
	s = lower(s)
	lo, hi := 0, len(words)
	for lo < hi {
		from := strings.LastIndexByte(words[:lo+(hi-lo)/2], '\n') + 1
		end := from + strings.IndexByte(words[from:], '\n')
		switch strings.Compare(s, words[from:end]) {
		case 0:
			return true
		case -1:
			hi = from
		default:
			lo = end + 1
		}
	}
	return slices.Contains(commonNames(), s)
}

// commonNames are names of six bytes and more that words.txt does not have:
// programs, parts of paths, branches, hosts, and words that belay itself writes
// into the log. They are maintained by hand, in lower case.
func commonNames() []string {
	return []string{
		// programs
		"ansible", "bundle", "chattr", "chroot", "composer", "containerd", "crontab", "docker-compose", "dotnet", "esbuild",
		"eslint",
		"firefox", "flutter", "gcloud", "gradle", "gradlew", "groupadd", "helmfile", "htpasswd", "iptables", "jenkins",
		"journalctl", "kubectl", "launchctl",
		"losetup", "mkfs.ext4", "minikube", "mongosh", "mysqldump", "netcat", "nodejs", "node_modules", "openssl", "passwd",
		"pg_dump", "pg_restore", "php-fpm",
		"playwright", "podman", "poetry", "postgres", "postgresql", "powershell", "prettier", "printenv", "prometheus",
		"pulumi", "pytest", "python", "python2", "python3",
		"rabbitmq", "redis-cli", "redis-server", "rclone", "rustup", "sendmail", "ssh-add", "ssh-agent", "ssh-copy-id",
		"ssh-keygen", "sqlite3", "sqlplus", "strace",
		"systemctl", "systemd", "tcpdump", "terraform", "timeout", "traceroute", "unshare", "useradd", "usermod", "vagrant",
		"valgrind", "virtualenv", "webpack",
		"xcodebuild", "docker-machine", "mariadb", "mongodb", "memcached", "elasticsearch", "grafana", "kibana", "consul",
		"keycloak", "wordpress", "django", "laravel", "spring",
		// parts of paths and files
		"authorized_keys", "bashrc", ".bashrc", ".config", ".docker", ".github", ".gitignore", ".gnupg", ".kube/config",
		".npmrc", ".profile", ".zshrc", "app.py", "cargo.toml", "changelog",
		"changelog.md", "dockerfile", "etc/passwd", "go.mod", "id_ed25519", "id_rsa", "index.html", "index.js", "kubeconfig",
		"known_hosts", "lost+found", "main.go", "main.py", "makefile",
		"node-modules", "package.json", "readme.md", "readme.txt", "requirements.txt", "settings.py", "site-packages",
		"test.py", "tsconfig.json", "/bin/sh", "/bin/bash",
		"/dev/null", "/dev/zero", "/dev/stdin", "/dev/stdout", "/etc/hosts", "/etc/passwd", "/etc/shadow", "/home/dev",
		"/opt/app", "/usr/bin", "/usr/lib", "/usr/local", "/var/lib",
		"/var/log", "/var/run", "/var/www", "/workspace",
		// branches and other refs
		"develop", "feature", "hotfix", "origin/head", "origin/main", "origin/master", "refs/heads", "refs/heads/main",
		"refs/heads/master", "refs/tags", "staging", "upstream", "mainline",
		// hosts
		"127.0.0.1", "0.0.0.0", "192.168.0.1", "192.168.1.1", "localhost", "localhost.localdomain", "host.docker.internal",
		"github.com", "gitlab.com", "bitbucket.org", "example.com",
		"example.org", "example.net", "docker.io", "gcr.io", "ghcr.io", "npmjs.org", "npmjs.com", "pypi.org",
		"registry.npmjs.org", "crates.io", "proxy.golang.org", "google.com",
		"amazonaws.com", "googleapis.com", "raw.githubusercontent.com", "api.github.com",
		// words of settings
		"administrator", "sandbox", "testing", "username", "password", "passphrase", "private-key", "public-key", "api-key",
		"api_key", "apikey", "bearer", "utf-8", "application/json",
		"text/plain", "read-only", "read-write", "us-east-1", "us-west-2", "eu-west-1", "eu-central-1", "europe-west1",
		"linux/amd64", "linux/arm64", "darwin", "windows", "ubuntu",
		"ubuntu-latest", "debian", "alpine", "fedora", "centos", "redhat", "monday", "tuesday", "wednesday", "thursday",
		"friday", "saturday", "sunday", "january", "february", "october",
		"november", "december", "september", "august", "123456", "1234567890", "2024-01-01", "2025-01-01", "2026-01-01",
		// belay's own
		"apply_patch", "pre_plan", "pre_send", "post_receive", "pre_tool", "post_tool", "state_transition", "claude-code",
		"redacted", "fragment", "command-guard", "path-guard",
		"audit-redact", "metadata", "verdict", "latched", "delegated",
	}
}
