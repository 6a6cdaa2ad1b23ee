package systemtest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// cgroups are the control groups into which systemd puts a daemon and the users of a machine:
// system.slice/belay.service, and user.slice/user-UID.slice for each. They hold processor time alone.
type cgroups struct {
	base    string // "" where the machine lets none be made
	own     string // v1: the group of this process
	unified bool   // cgroup v2, as systemd uses it today; else the cpu controller of v1
	flat    bool   // all share one group, as on a machine without systemd
}

// Weights of processor time. systemd gives 100 to every group that says nothing else; a group of v1 has 1024 shares
// then.
const (
	usualWeight  = 100
	usualShares  = 1024
	daemonWeight = 500
	// baseWeight keeps what else runs on this machine out of the figures.
	baseWeight = 10000
)

// newCgroups makes the groups. Where that is not possible, why says so, and every process stays where it is.
func newCgroups(t *testing.T, flat bool) (s *cgroups, why error) {
	t.Helper()
	s = &cgroups{flat: flat}
	root, unified, err := cpuHierarchy()
	if err != nil {
		return s, err
	}
	if s.own, err = ownGroup(root); err != nil {
		return s, err
	}
	base := filepath.Join(root, fmt.Sprintf("belay-test-%d", os.Getpid()))
	if err := os.Mkdir(base, 0o755); err != nil {
		return s, err
	}
	s.base, s.unified = base, unified
	t.Cleanup(s.remove)
	groups := []string{"", "all"}
	if !flat {
		groups = []string{"", "system.slice", "system.slice/belay.service", "user.slice", "user.slice/user-1501.slice",
			"user.slice/user-1502.slice"}
	}
	for _, g := range groups {
		weight := usualWeight
		switch g {
		case "":
			weight = baseWeight
		case "system.slice/belay.service":
			weight = daemonWeight
		}
		if err := s.makeGroup(filepath.Join(base, g), weight); err != nil {
			s.remove()
			s.base = ""
			return s, err
		}
	}
	return s, nil
}

// makeGroup makes a group whose children share by weight.
func (s *cgroups) makeGroup(dir string, weight int) error {
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	if !s.unified {
		return os.WriteFile(filepath.Join(dir, "cpu.shares"), []byte(strconv.Itoa(weight*usualShares/usualWeight)), 0)
	}
	if err := os.WriteFile(filepath.Join(dir, "cpu.weight"), []byte(strconv.Itoa(weight)), 0); err != nil {
		return err
	}
	switch filepath.Base(dir) {
	case "all", "belay.service", "user-1501.slice", "user-1502.slice":
		return nil // holds processes
	}
	return os.WriteFile(filepath.Join(dir, "cgroup.subtree_control"), []byte("+cpu"), 0)
}

// cpuHierarchy returns where groups of processor time are made.
func cpuHierarchy() (root string, unified bool, err error) {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return "", false, err
	}
	for line := range strings.Lines(string(mounts)) {
		place, kind, ok := strings.Cut(strings.TrimSpace(line), " - ")
		fields, of := strings.Fields(place), strings.Fields(kind)
		if !ok || len(fields) < 5 || len(of) < 3 {
			continue
		}
		switch {
		case of[0] == "cgroup" && hasWord(of[2], "cpu"):
			return fields[4], false, nil
		case of[0] == "cgroup2":
			controllers, err := os.ReadFile(filepath.Join(fields[4], "cgroup.controllers"))
			if err == nil && hasWord(strings.ReplaceAll(strings.TrimSpace(string(controllers)), " ", ","), "cpu") {
				root, unified = fields[4], true
			}
		}
	}
	if root == "" {
		return "", false, errors.New("this machine has no control groups of processor time")
	}
	return root, unified, nil
}

// ownGroup is the group of this process in the cpu hierarchy of v1.
func ownGroup(root string) (string, error) {
	groups, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(groups)) {
		if fields := strings.SplitN(strings.TrimSpace(line), ":", 3); len(fields) == 3 && hasWord(fields[1], "cpu") {
			return filepath.Join(root, fields[2]), nil
		}
	}
	return root, nil
}

func hasWord(list, word string) bool {
	for one := range strings.SplitSeq(list, ",") {
		if one == word {
			return true
		}
	}
	return false
}

// start starts a command in the group of a user, or, with uid -1, in the daemon's.
func (s *cgroups) start(uid int, cmd *exec.Cmd) error {
	if s == nil || s.base == "" {
		return cmd.Start()
	}
	group := "all"
	switch {
	case s.flat:
	case uid == alice || uid == bob:
		group = fmt.Sprintf("user.slice/user-%d.slice", uid)
	default:
		group = "system.slice/belay.service"
	}
	dir := filepath.Join(s.base, group)
	if s.unified {
		fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		if cmd.SysProcAttr == nil {
			cmd.SysProcAttr = &syscall.SysProcAttr{}
		}
		cmd.SysProcAttr.UseCgroupFD, cmd.SysProcAttr.CgroupFD = true, fd
		return cmd.Start()
	}
	// In v1 a child begins in the group of the thread that makes it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	tid := []byte(strconv.Itoa(unix.Gettid()))
	if err := os.WriteFile(filepath.Join(dir, "tasks"), tid, 0); err != nil {
		return err
	}
	err := cmd.Start()
	return errors.Join(err, os.WriteFile(filepath.Join(s.own, "tasks"), tid, 0))
}

// remove removes the groups, which are empty once their processes have ended.
func (s *cgroups) remove() {
	if s.base == "" {
		return
	}
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		var dirs []string
		_ = filepath.WalkDir(s.base, func(path string, d os.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				dirs = append(dirs, path)
			}
			return nil
		})
		for i := len(dirs) - 1; i >= 0; i-- {
			_ = os.Remove(dirs[i])
		}
		if _, err := os.Lstat(s.base); errors.Is(err, os.ErrNotExist) {
			return
		}
	}
}
