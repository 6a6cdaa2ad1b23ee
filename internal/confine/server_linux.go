package confine

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/landlock-lsm/go-landlock/landlock"
	rights "github.com/landlock-lsm/go-landlock/landlock/syscall"
)

// Version returns the version of Landlock that holds what this package confines; 0 where the kernel has none.
func Version() (int, error) {
	version, err := rights.LandlockGetABIVersion()
	switch {
	case errors.Is(err, syscall.ENOSYS), errors.Is(err, syscall.EOPNOTSUPP), err == nil && version < 1:
		return 0, nil
	case errors.Is(err, syscall.EPERM): // no kernel says that: a filter does, and that is no reason to go without
		return 0, fmt.Errorf("a filter of system calls, such as a container's, forbids it (%w): allow "+
			"landlock_create_ruleset, landlock_add_rule and landlock_restrict_self there", err)
	case err != nil:
		return 0, err
	}
	return min(version, newest), nil
}

// Apply confines this process for good, so that what it becomes is confined. Without Landlock the error is
// ErrNoLandlock. Each call makes a domain of its own: from version 6 on processes of two domains cannot signal each
// other; in every version they cannot look into each other. The network stays open. It is called before the process
// becomes the server: where it still has other threads, each of them gets a domain.
func (s Server) Apply() error {
	version, err := Version()
	if err == nil && version == 0 {
		err = ErrNoLandlock
	}
	if err != nil {
		return err
	}
	config := landlock.V9
	config.HandledAccessNet = 0
	rules := append(machineFiles(),
		landlock.ROFiles(s.Program),
		writable(version, s.Temp),
	)
	for _, path := range s.Read {
		rule, err := readable(path)
		if err != nil {
			return err
		}
		rules = append(rules, rule)
	}
	for _, path := range s.Write {
		fi, err := os.Stat(path)
		switch {
		case err != nil:
			return err
		case fi.IsDir():
			rules = append(rules, writable(version, path))
		default:
			rules = append(rules, landlock.RWFiles(path))
		}
	}
	return config.BestEffort().Restrict(rules...)
}

func readable(path string) (landlock.Rule, error) {
	fi, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if fi.IsDir() {
		return landlock.RODirs(path), nil
	}
	return landlock.ROFiles(path), nil
}

// machineFiles are what programs of the machine need: themselves, their libraries and settings, and what the kernel
// tells. Not among them are homes, /tmp, /var and /run.
func machineFiles() []landlock.Rule {
	return []landlock.Rule{
		landlock.RODirs("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/srv", "/nix/store",
			"/gnu/store").IgnoreIfMissing(),
		landlock.PathAccess(read, "/etc", "/proc", "/sys").IgnoreIfMissing(),
		landlock.PathAccess(read, "/var/lib/ca-certificates").IgnoreIfMissing(),
		// Where a link in the place of resolv.conf leads, and what looks names up.
		landlock.PathAccess(read, "/run/systemd/resolve", "/run/resolvconf", "/run/NetworkManager", "/run/nscd").
			WithResolveUnix().IgnoreIfMissing(),
		landlock.PathAccess(landlock.AccessFSSet(rights.AccessFSReadFile|rights.AccessFSWriteFile), "/dev/null").
			IgnoreIfMissing(),
		landlock.PathAccess(landlock.AccessFSSet(rights.AccessFSReadFile), "/dev/urandom", "/dev/random", "/dev/zero",
			"/dev/full").IgnoreIfMissing(),
	}
}
