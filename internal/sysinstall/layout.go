//go:build linux

package sysinstall

import (
	"embed"
	"io/fs"
	"path"

	"github.com/belay-hooks/belay/internal/system"
)

//go:embed units
var units embed.FS

// ProgramDir is where the programs are installed. It is on the path of every user and of systemd, the file
// system's standard gives it to what no package brings, and SELinux lets services start what lies there.
const ProgramDir = "/usr/local/bin"

// Programs returns the names of the programs: the commands, what runtimes start, and what decides without a daemon.
func Programs() []string { return []string{"belay", "belay-hook", "belay-eval"} }

// Files of an installation.
const (
	unitDir      = "/etc/systemd/system"
	wantsDir     = unitDir + "/sockets.target.wants"
	sysusersFile = "/etc/sysusers.d/belay.conf"
	tmpfilesFile = "/etc/tmpfiles.d/belay.conf"

	// ManifestFile names what an installation wrote, by digest.
	ManifestFile = system.ConfigDir + "/installed.json"
	lockFile     = system.ConfigDir + "/.lock"
	// setAside is the system.yaml of an installation that was removed; the next one takes it up.
	setAside = "system.yaml.removed"
)

// Sockets returns the units that hold the sockets at which agents ask.
func Sockets() []string { return []string{"belay.socket", "belay-frame.socket"} }

// Units of the daemon, and of what runs MCP servers of hooks: each of those is a service of its own.
const (
	Service      = "belay.service"
	ToolsSocket  = "belay-tools.socket"
	ToolsService = "belay-tools@.service"
	ToolsSlice   = "belay-tools.slice"
)

// allSockets returns every unit that holds a socket.
func allSockets() []string { return append(Sockets(), ToolsSocket) }

// allUnits returns every unit of an installation.
func allUnits() []string { return append(allSockets(), Service, ToolsService, ToolsSlice) }

// kind says what an item is.
type kind int

const (
	sharedDir kind = iota // of the machine: made where it is missing, never removed
	ownDir
	ownFile    // belay's: replaced and removed
	program    // the same, from a file
	configFile // the operator's: made where it is missing, then left alone
	link
	account // users, made by the machine's own program
)

// item is one thing of an installation.
type item struct {
	kind    kind
	path    string
	mode    fs.FileMode
	user    string // owner: "" is root
	content []byte
	source  string // of a program: the file to copy
	target  string // of a link
	live    bool   // only on the machine itself: what an image makes at each start
}

// Policy is the configuration that an installation begins with.
type Policy struct {
	System, Belay, Trust []byte // of system.yaml, belay.yaml, trust.yaml
}

// items returns everything that an installation consists of, in the order in which it is made. What turns
// system mode on comes last.
func items(p Policy, sources map[string]string) []item {
	out := []item{
		{kind: sharedDir, path: "/etc", mode: 0o755},
		{kind: ownDir, path: system.ConfigDir, mode: 0o755}, // the lock lies there
	}
	for _, dir := range []string{"/etc/sysusers.d", "/etc/tmpfiles.d", "/etc/systemd", unitDir, wantsDir,
		"/usr", "/usr/local", ProgramDir, "/var", "/var/lib"} {
		out = append(out, item{kind: sharedDir, path: dir, mode: 0o755})
	}
	out = append(out,
		item{kind: ownFile, path: sysusersFile, mode: 0o644, content: unit("sysusers.conf")},
		item{kind: account, path: "users"},
		item{kind: ownFile, path: tmpfilesFile, mode: 0o644, content: unit("tmpfiles.conf")},
		item{kind: ownDir, path: system.StateDir, mode: 0o700, user: system.User},
		item{kind: ownDir, path: system.RunDir, mode: 0o755, live: true},
	)
	for _, name := range Programs() {
		out = append(out, item{kind: program, path: path.Join(ProgramDir, name), mode: 0o755, source: sources[name]})
	}
	for _, name := range allUnits() {
		out = append(out, item{kind: ownFile, path: path.Join(unitDir, name), mode: 0o644, content: unit(name)})
	}
	for _, name := range allSockets() {
		out = append(out, item{kind: link, path: path.Join(wantsDir, name), target: path.Join(unitDir, name)})
	}
	return append(out,
		item{kind: configFile, path: path.Join(system.ConfigDir, "belay.yaml"), mode: 0o644, content: p.Belay},
		item{kind: configFile, path: path.Join(system.ConfigDir, "trust.yaml"), mode: 0o644, content: p.Trust},
		item{kind: configFile, path: system.ConfigFile, mode: 0o644, content: p.System},
	)
}

// unit returns the text of a file that is part of this program.
func unit(name string) []byte {
	b, err := units.ReadFile("units/" + name)
	if err != nil {
		panic(err) // a name of this package
	}
	return b
}
