//go:build linux

package sysinstall

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path"
	"strings"
	"time"

	"github.com/belay-hooks/belay/internal/system"
)

// makeAccounts makes the users that sysusersFile names, by the machine's own programs: they know
// /etc/shadow, locks and files of others. Note is not empty where that is left to an image's first start.
func (t *Tree) makeAccounts(ctx context.Context) (note string, err error) {
	if program, ok := find("systemd-sysusers"); ok {
		args := []string{path.Base(sysusersFile)}
		if !t.Machine() {
			args = append([]string{"--root=" + t.dir}, args...)
		}
		return "", run(ctx, program, args...)
	}
	program, ok := find("useradd")
	if !ok {
		if !t.Machine() {
			return "users " + system.User + " and " + system.ToolsUser +
				" are made by systemd-sysusers when the machine starts", nil
		}
		return "", &Error{Reason: "there is neither systemd-sysusers nor useradd on this machine",
			Advice: "Make the system users " + system.User + " and " + system.ToolsUser +
				", and install again.", Class: ErrSystem}
	}
	have, err := t.accounts()
	for _, name := range []string{system.User, system.ToolsUser} {
		if _, ok := have[name]; ok || err != nil {
			continue
		}
		args := []string{"--system", "--user-group", "--no-create-home", "--home-dir", "/nonexistent",
			"--shell", "/usr/sbin/nologin", name}
		if !t.Machine() {
			args = append([]string{"--prefix", t.dir}, args...)
		}
		err = run(ctx, program, args...)
	}
	return "", err
}

// removeAccounts removes belay's users. Those that are gone are no error.
func (t *Tree) removeAccounts(ctx context.Context) error {
	have, err := t.accounts()
	if err != nil || len(have) == 0 {
		return err
	}
	program, ok := find("userdel")
	if !ok {
		return &Error{Reason: "there is no userdel on this machine",
			Advice: "Remove the users " + system.User + " and " + system.ToolsUser + " by hand.", Class: ErrSystem}
	}
	for name := range have {
		args := []string{name}
		if !t.Machine() {
			args = []string{"--prefix", t.dir, name}
		}
		err = errors.Join(err, run(ctx, program, args...))
	}
	return err
}

// find looks for a program of the machine where only root can put one, whatever $PATH says.
func find(name string) (string, bool) {
	for _, dir := range []string{"/usr/bin", "/usr/sbin", "/bin", "/sbin"} {
		file := path.Join(dir, name)
		if fi, err := os.Stat(file); err == nil && fi.Mode().IsRegular() && fi.Mode().Perm()&0o111 != 0 {
			return file, true
		}
	}
	return "", false
}

// patience bounds how long a program of the machine may take.
const patience = time.Minute

// run runs a program of the machine without belay's environment.
func run(ctx context.Context, program string, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8"}
	out, err := cmd.CombinedOutput()
	if err == nil {
		return nil
	}
	says := bytes.ReplaceAll(bytes.TrimSpace(out), []byte("\n"), []byte("; "))
	says = says[max(0, len(says)-300):] // why stands at the end
	why := err.Error()
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		why = "it took longer than " + patience.String()
	}
	if len(says) > 0 {
		why += ": " + string(says)
	}
	return &Error{Reason: path.Base(program) + " " + strings.Join(args, " ") + " failed: " + why, Class: ErrSystem,
		Cause: err}
}
