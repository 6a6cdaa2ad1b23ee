package confine

import (
	"debug/elf"

	"github.com/landlock-lsm/go-landlock/landlock"
	rights "github.com/landlock-lsm/go-landlock/landlock/syscall"
)

// read leaves out executing, which landlock.RODirs grants.
const read = landlock.AccessFSSet(rights.AccessFSReadFile | rights.AccessFSReadDir)

// newest is the last version of Landlock whose restrictions belay was written for. Version 10
// would restrict UDP, by which names are looked up.
const newest = 9

// restrict applies the rules, and returns the version of Landlock that holds them: 0 for none.
// The network stays open: http_request has its own list, and systemd its filters.
func restrict(p Places) (version int, err error) {
	version, err = Version()
	if err != nil || version == 0 {
		return version, err
	}
	own, err := ownProgram()
	if err != nil {
		return 0, err
	}
	config := landlock.V9
	config.HandledAccessNet = 0
	err = config.BestEffort().Restrict(append(own,
		landlock.PathAccess(read, p.Config),
		writable(version, p.State),
		landlock.PathAccess(read, p.Run).WithResolveUnix().IgnoreIfMissing(),

		// A rule for one file of /etc would be lost when the file is replaced, as resolv.conf is. What is secret
		// there is so by its mode.
		landlock.PathAccess(read, "/etc", "/usr/share/zoneinfo").IgnoreIfMissing(),
		// Authorities, where links of /etc/ssl lead.
		landlock.PathAccess(read, "/usr/share/ca-certificates", "/usr/local/share/ca-certificates",
			"/usr/share/pki", "/var/lib/ca-certificates").IgnoreIfMissing(),
		// Where a link in the place of resolv.conf leads.
		landlock.PathAccess(read, "/run/systemd/resolve", "/run/resolvconf", "/run/NetworkManager").IgnoreIfMissing(),
		// A PostgreSQL of this machine. Its directory is there from the boot on, also while it is stopped.
		landlock.PathAccess(landlock.AccessFSSet(rights.AccessFSResolveUnix), "/run/postgresql").IgnoreIfMissing(),
		// Where systemd is told how the daemon stands.
		landlock.PathAccess(landlock.AccessFSSet(rights.AccessFSResolveUnix), "/run/systemd").IgnoreIfMissing(),
		landlock.PathAccess(read, "/proc").IgnoreIfMissing(),
		landlock.PathAccess(landlock.AccessFSSet(rights.AccessFSReadFile|rights.AccessFSWriteFile), "/dev/null").
			IgnoreIfMissing(),
		landlock.PathAccess(landlock.AccessFSSet(rights.AccessFSReadFile), "/dev/urandom", "/dev/random", "/dev/zero").
			IgnoreIfMissing(),
	)...)
	return version, err
}

// writable lets files be read, written and, where the kernel can tell that apart, moved between directories.
func writable(version int, dir string) landlock.Rule {
	all := landlock.RWDirs(dir).WithResolveUnix()
	if version < 2 {
		return all
	}
	return all.WithRefer()
}

// ownProgram lets this program start itself: modules are compiled in a process of its own. One that
// is linked dynamically also needs its loader, and libraries to read.
func ownProgram() ([]landlock.Rule, error) {
	const path = "/proc/self/exe"
	rules := []landlock.Rule{landlock.ROFiles(path)}
	f, err := elf.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	loader, err := Loader(f)
	if err != nil || loader == "" {
		return rules, err
	}
	return append(rules, landlock.ROFiles(loader),
		landlock.PathAccess(read, "/lib", "/lib64", "/usr/lib", "/usr/lib64").IgnoreIfMissing()), nil
}
