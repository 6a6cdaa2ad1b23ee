package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/files"
	"github.com/belay-hooks/belay/internal/statelog"
	"github.com/belay-hooks/belay/internal/strictyaml"
	"github.com/belay-hooks/belay/internal/sysinstall"
	"github.com/belay-hooks/belay/internal/system"
)

// maxCheckpoints bounds a file of checkpoints that is given, in bytes.
const maxCheckpoints = 64 << 20

// systemImport reads the user's directory as root, and has a process of belay's own user write, prove and take in
// the copy: root writes nowhere that another user can change.
func (a *App) systemImport(ctx context.Context, dir string, f importFlags) error {
	t, err := a.openSystem(f.systemFlags, true)
	if err != nil {
		return err
	}
	defer t.Close()
	if f.user == "" {
		return usageError("system import takes --user NAME", "It says whose state directory it is.")
	}
	uid, err := userOf(t, f.user)
	if err != nil {
		return err
	}
	own, ok, err := t.Lookup(system.User)
	if err != nil {
		return systemFailure(err)
	}
	if !ok {
		return failure("there is no user "+system.User, "`belay system install` makes it.")
	}
	if err := logsOfUsersHere(t); err != nil {
		return err
	}
	var checkpoints []byte
	if f.checkpoint != "" {
		if checkpoints, err = files.Read(f.checkpoint, maxCheckpoints); err != nil {
			return failureBy(err, "")
		}
	}
	unlock, err := t.Lock()
	if err != nil {
		return systemFailure(err)
	}
	defer unlock()
	src, err := sysinstall.OpenSource(dir, uid, checkpoints)
	if err != nil {
		return systemFailure(err)
	}
	defer src.Close()
	if err := withinLimit(t, src); err != nil {
		return err
	}
	report, err := receiveApart(ctx, own, t.Outer(system.StateDir), uid, f.key, src.Send)
	if err != nil {
		return systemFailure(err)
	}
	to := system.UserDir(system.StateDir, uid)
	if f.json {
		return a.printJSON(map[string]any{"dir": to, "uid": uid, "verified": report})
	}
	printLogReport(a.Out, report)
	fmt.Fprintf(a.Out, "Imported as %s. %s stays as it is, and counts no more in system mode.\n", safe(to), safe(dir))
	return nil
}

// userOf returns the uid of a name or number.
func userOf(t *sysinstall.Tree, name string) (int, error) {
	a, ok, err := t.Lookup(name)
	if err != nil {
		return 0, systemFailure(err)
	}
	uid := a.UID
	if !ok {
		n, err := strconv.ParseUint(name, 10, 31)
		if err != nil {
			return 0, failure("there is no user "+safe(name)+" in /etc/passwd", "Give the uid: id -u "+safe(name))
		}
		uid = int(n)
	}
	if uid == 0 {
		return 0, failure("root asks no questions in system mode", "")
	}
	return uid, nil
}

// logsOfUsersHere refuses an import where the organisation's belay.yaml names a store that kernels share: the log of a
// user would lie beside it and never be read.
func logsOfUsersHere(t *sysinstall.Tree) error {
	src, err := files.Read(t.Outer(filepath.Join(system.ConfigDir, config.FileName)), strictyaml.MaxSize)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var file *config.File
	if err == nil {
		file, err = config.Parse(src)
	}
	if err != nil {
		return failureBy(err, "Whether users have logs on this machine is not known. Nothing was imported.")
	}
	if file.Central() != nil {
		return failure("the logs of users are in PostgreSQL: the organisation's belay.yaml names it (store)",
			"Keep the old directory as it is: `belay --state DIR events verify` verifies it as ever.")
	}
	return nil
}

// withinLimit refuses a log that the daemon would refuse to write to.
func withinLimit(t *sysinstall.Tree, src *sysinstall.Source) error {
	size, err := src.Size()
	if errors.Is(err, fs.ErrNotExist) {
		return failure("there is no event log in the state directory", "belay.db is missing.")
	}
	if err != nil {
		return systemFailure(err)
	}
	text, err := files.Read(t.Outer(system.ConfigFile), 1<<20)
	if err != nil {
		return failureBy(err, "`belay system install` comes first.")
	}
	c, err := system.Parse(text)
	if err != nil {
		return failureBy(err, "")
	}
	if most := int64(c.Limits.StateMiB) << 20; size >= most {
		return failure(fmt.Sprintf("the log has %s, and system.yaml allows a user %s", bytesText(size), bytesText(most)),
			"Raise limits: {state_mib: N} in "+system.ConfigFile+", or compact the log first (`belay events compact`).")
	}
	return nil
}

// receiveApart has a process of belay's own user take an archive in, and returns what it proved.
func receiveApart(ctx context.Context, own sysinstall.Account, state string, uid int, key string,
	send func(io.Writer) error) (statelog.Report, error) {
	var none statelog.Report
	ours, theirs, err := os.Pipe()
	if err != nil {
		return none, err
	}
	args := []string{"belay", "system", receiveCommand, state, strconv.Itoa(uid)}
	if key != "" {
		args = append(args, key)
	}
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(ctx, "/proc/self/exe")
	cmd.Args = args
	cmd.Dir = "/"
	cmd.Env = []string{"TMPDIR=" + state, "GOMEMLIMIT=1GiB"}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = ours, &limitedWriter{w: &out, left: 1 << 20}, &limitedWriter{w: &errs,
		left: 16 << 10}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Credential: &syscall.Credential{Uid: uint32(own.UID), Gid: uint32(own.GID)}}
	if err := cmd.Start(); err != nil {
		return none, errors.Join(err, ours.Close(), theirs.Close())
	}
	if err := ours.Close(); err != nil { // the process has its own: where it ends, writing fails
		return none, err
	}
	sent := errors.Join(send(theirs), theirs.Close()) // an archive without its end is not taken in
	err = cmd.Wait()
	switch {
	case sent != nil && !errors.Is(sent, syscall.EPIPE):
		return none, sent
	case err != nil && errs.Len() > 0:
		return none, failure("nothing was imported: "+oneLine(errs.String(), 600), "")
	case err != nil:
		return none, err
	}
	var report statelog.Report
	if err := json.Unmarshal(out.Bytes(), &report); err != nil {
		return none, fmt.Errorf("what was imported cannot be read: %w", err)
	}
	return report, nil
}

// systemReceive takes an archive in, once its log is proven. It runs as belay's own user.
func (a *App) systemReceive(ctx context.Context, args []string) error {
	uid, err := strconv.Atoi(args[1])
	if err != nil || uid < 1 {
		return usageError("system "+receiveCommand+" takes a uid", "")
	}
	restrictUmask()
	ev := statelog.Evidence{}
	if len(args) > 2 {
		ev.Verifier = args[2]
	}
	var report statelog.Report
	err = sysinstall.Receive(a.In, args[0], uid, func(dir, checkpoints string) error {
		ev.Checkpoints = checkpoints
		log, err := statelog.OpenReadOnly(ctx, dir)
		if err != nil {
			return err
		}
		report, err = log.Verify(ctx, ev)
		if err = errors.Join(err, log.Close()); err != nil {
			return err
		}
		if report.Wrong != nil {
			return errors.New("the log is not proven: " + report.Wrong.Text)
		}
		return nil
	})
	if e := (*sysinstall.Error)(nil); errors.As(err, &e) {
		return failureBy(err, e.Advice)
	}
	if err != nil {
		return failureBy(err, "")
	}
	return a.printJSON(report)
}
