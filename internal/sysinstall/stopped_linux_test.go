package sysinstall

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/belay-hooks/belay/internal/system"
)

// stopAfter has the nth change of a tree, and all that follow, end with the error.
func stopAfter(tree *Tree, n int) error {
	stop := errors.New("stopped")
	tree.changed = func(string, string) error {
		if n--; n <= 0 {
			return stop
		}
		return nil
	}
	return stop
}

// child is the variable that makes this test program a command of belay system: what it does, the tree, the directory
// of the programs, their version, and the change after which it kills itself.
const child = "BELAY_TEST_SYSINSTALL"

// allStops is the variable that has commands killed after each change, not after some of them (make test-installs).
const allStops = "BELAY_STOPS"

func TestMain(m *testing.M) {
	if s := os.Getenv(child); s != "" {
		os.Exit(command(strings.Split(s, "\n")))
	}
	os.Exit(m.Run())
}

// command is one command of belay system in a process of its own. It ends with 0 when it is through, 3 when another
// is at work, and 4 when something else is in the way.
func command(args []string) int {
	what, dir, programs, version := args[0], args[1], args[2], args[3]
	err := func() error {
		tree, err := openTree(dir, os.Geteuid())
		if err != nil {
			return err
		}
		if n, err := strconv.Atoi(args[4]); err == nil && n > 0 {
			tree.changed = func(string, string) error {
				if n--; n == 0 {
					return syscall.Kill(os.Getpid(), syscall.SIGKILL)
				}
				return nil
			}
		}
		if what == "uninstall" || what == "purge" {
			r, err := tree.PlanRemoval(what == "purge")
			if err != nil {
				return err
			}
			return r.Apply(context.Background(), nil)
		}
		o := policy(Options{Version: version, Programs: Beside(programs)})
		p, err := tree.Plan(o)
		if err != nil {
			return err
		}
		if what == "upgrade" {
			return p.Upgrade(context.Background(), nil, nil)
		}
		_, err = p.Apply(context.Background(), nil)
		return err
	}()
	switch {
	case err == nil:
		return 0
	case errors.Is(err, ErrBusy):
		return 3
	}
	fmt.Println(err)
	return 4
}

// start starts a command in a process of its own, which kills itself after that many changes; 0 is never.
func start(t *testing.T, what string, tree *Tree, o Options, stop int) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), child+"="+strings.Join([]string{what, tree.dir, filepath.Dir(o.Programs["belay"]),
		o.Version, strconv.Itoa(stop)}, "\n"))
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd
}

// killedAfter runs a command that kills itself, and reports whether it came so far.
func killedAfter(t *testing.T, what string, tree *Tree, o Options, stop int) bool {
	t.Helper()
	cmd := start(t, what, tree, o, stop)
	err := cmd.Wait()
	status := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if err != nil && !status.Signaled() {
		t.Fatalf("%s: %v: %s", what, err, cmd.Stdout)
	}
	return status.Signaled()
}

// A command that is killed in the middle leaves what the next one completes, whichever it is.
func TestTheNextCommandCompletesAKilledOne(t *testing.T) {
	needsRoot(t)
	every := 43
	if os.Getenv(allStops) != "" {
		every = 1
	}
	old, next, newer := options(t, "v1.0.0"), options(t, "v2.0.0"), options(t, "v3.0.0")
	for i, c := range []struct {
		killed, then string
		of           Options
	}{
		{"install", "install", next}, {"install", "install", newer}, {"install", "purge", old},
		{"upgrade", "upgrade", next}, {"upgrade", "upgrade", newer}, {"upgrade", "install", old}, {"upgrade", "purge", old},
		{"uninstall", "uninstall", old}, {"uninstall", "install", newer}, {"purge", "purge", old}, {"purge", "install", old},
	} {
		for n := 1 + 7*i%every; ; n += every {
			tree := image(t)
			if c.killed != "install" {
				install(t, tree, old)
			}
			what := fmt.Sprintf("%s, killed after %d changes, then %s of %s", c.killed, n, c.then, c.of.Version)
			if c.killed == "upgrade" { // units, too, are of another version
				older(t, tree, unitDir+"/belay.service")
			}
			if !killedAfter(t, c.killed, tree, next, n) {
				break
			}
			if killedAfter(t, c.then, tree, c.of, 0) {
				t.Fatal(what)
			}
			if left := beside(t, tree); left != "" {
				t.Errorf("%s: left %s", what, left)
			}
			if c.then == "purge" || c.then == "uninstall" {
				if _, err := os.Lstat(tree.Outer(ProgramDir + "/belay")); err == nil {
					t.Errorf("%s: belay is left", what)
				}
				continue
			}
			if text := faults(tree); text != "" {
				t.Errorf("%s: %s", what, text)
			}
			for _, name := range Programs() {
				if !strings.Contains(read(t, tree.Outer(ProgramDir+"/"+name)), c.of.Version) {
					t.Errorf("%s: %s is of another version", what, name)
				}
			}
			if got := read(t, tree.Outer(unitDir+"/belay.service")); got != string(unit(Service)) {
				t.Errorf("%s: the unit is of another version", what)
			}
		}
	}
}

// older changes a file, and the record of it, as if an older belay had written both.
func older(t *testing.T, tree *Tree, name string) {
	t.Helper()
	put(t, tree.Outer(name), "# older\n"+read(t, tree.Outer(name)), 0o644)
	m, err := tree.manifest()
	if err == nil {
		m.Files[name], err = tree.digest(name)
	}
	if err == nil {
		err = tree.writeManifest(m)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// beside are files that a command made for the time that it works.
func beside(t *testing.T, tree *Tree) string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(tree.dir, func(name string, d os.DirEntry, err error) error {
		if err == nil && strings.HasPrefix(d.Name(), ".belay-") {
			out = append(out, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(out, " ")
}

// Any number of commands at the same time leave what one of them leaves: whole, or refused.
func TestCommandsAtTheSameTime(t *testing.T) {
	needsRoot(t)
	rounds := 4
	if os.Getenv(allStops) != "" {
		rounds = 200
	}
	sets := []Options{options(t, "v1.0.0"), options(t, "v2.0.0"), options(t, "v3.0.0")}
	tree := image(t)
	victim := plants(t, tree)
	whole, busy := 0, 0
	for round := range rounds {
		var commands []*exec.Cmd
		for i, what := range []string{"install", "upgrade", "install", "uninstall", "install", "purge", "upgrade",
			"install"} {
			commands = append(commands, start(t, what, tree, sets[(round+i)%len(sets)], 0))
		}
		for _, cmd := range commands {
			_ = cmd.Wait() // its status is looked at
			switch code := cmd.ProcessState.ExitCode(); code {
			case 0:
				whole++
			case 3:
				busy++
			default: // what it planned on was gone by then
				if out := fmt.Sprint(cmd.Stdout); strings.Contains(out, "was not written by an installation") ||
					strings.Contains(out, "file exists") {
					t.Errorf("round %d: exit %d: %s", round, code, out)
				}
			}
		}
		o := sets[round%len(sets)]
		if killedAfter(t, "install", tree, o, 0) {
			t.Fatal("killed")
		}
		if text := faults(tree) + beside(t, tree); text != "" {
			t.Fatalf("round %d: %s", round, text)
		}
		for _, name := range Programs() {
			if !strings.Contains(read(t, tree.Outer(ProgramDir+"/"+name)), o.Version) {
				t.Errorf("round %d: %s is of another version", round, name)
			}
		}
	}
	if got := read(t, victim); got != "untouched" {
		t.Errorf("the file outside holds %q", got)
	}
	if whole == 0 || busy == 0 {
		t.Errorf("%d were whole, %d found another at work: that was no race", whole, busy)
	}
}

// A disk that is full: nothing is half done, and the same command completes when there is room.
func TestFullDisk(t *testing.T) {
	needsRoot(t)
	o := options(t, "v2.0.0")
	for name, room := range map[string]int{"programs": 24, "more": 40, "files": 8} {
		t.Run(name, func(t *testing.T) {
			tree := small(t)
			if name != "files" {
				install(t, tree, options(t, "v1.0.0"))
			}
			fill := tree.Outer("/full")
			fillUp(t, fill, room<<10)
			big := policy(Options{Version: o.Version, Programs: Beside(t.TempDir())})
			for _, p := range Programs() {
				put(t, big.Programs[p], "#!/bin/sh\necho belay v2.0.0\n#"+strings.Repeat("x", 20<<10), 0o755)
			}
			p, err := tree.Plan(big)
			if err != nil {
				t.Fatal(err)
			}
			if name == "files" {
				_, err = p.Apply(context.Background(), nil)
			} else {
				err = p.Upgrade(context.Background(), nil, nil)
			}
			// systemd-sysusers's
			if err == nil || !errors.Is(err, syscall.ENOSPC) && !strings.Contains(err.Error(), "No space left") {
				t.Fatalf("the disk is full: %v", err)
			}
			if name != "files" {
				if text := faults(tree) + beside(t, tree); text != "" {
					t.Error(text)
				}
				if v, _, err := tree.Installed(); v != "v1.0.0" || err != nil {
					t.Error(v, err)
				}
			}
			if err := os.Remove(fill); err != nil {
				t.Fatal(err)
			}
			install(t, tree, big)
			if text := faults(tree) + beside(t, tree); text != "" {
				t.Error(text)
			}
		})
	}
}

// small is a tree on a small disk of its own.
func small(t *testing.T) *Tree {
	t.Helper()
	tree := image(t)
	if err := syscall.Mount("tmpfs", tree.dir, "tmpfs", 0, "size=512k,mode=0755"); err != nil {
		t.Skip("no disk can be mounted here: ", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(tree.dir, syscall.MNT_DETACH) })
	on, err := openTree(tree.dir, os.Geteuid())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = on.Close() })
	return on
}

// fillUp leaves that much room.
func fillUp(t *testing.T, name string, room int) {
	t.Helper()
	var fs syscall.Statfs_t
	if err := syscall.Statfs(filepath.Dir(name), &fs); err != nil {
		t.Fatal(err)
	}
	put(t, name, strings.Repeat("x", int(fs.Bavail)*int(fs.Bsize)-room), 0o600)
}

// Where a directory cannot be written, the error names it.
func TestReadOnlyDirectories(t *testing.T) {
	needsRoot(t)
	for _, dir := range []string{"/etc", unitDir, ProgramDir, "/var/lib"} {
		tree := small(t)
		if err := os.MkdirAll(tree.Outer(dir), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mount(tree.Outer(dir), tree.Outer(dir), "", syscall.MS_BIND, ""); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mount("", tree.Outer(dir), "", syscall.MS_BIND|syscall.MS_REMOUNT|syscall.MS_RDONLY,
			""); err != nil {
			t.Fatal(err)
		}
		p, err := tree.Plan(options(t, "v1.0.0"))
		if err == nil {
			_, err = p.Apply(context.Background(), nil)
		}
		if !errors.Is(err, syscall.EROFS) || !strings.Contains(err.Error(), dir+"/") {
			t.Errorf("%s: %v", dir, err)
		}
		if _, err := os.Lstat(tree.Outer(system.ConfigFile)); err == nil {
			t.Errorf("%s: the machine is in system mode all the same", dir)
		}
		if err := syscall.Unmount(tree.Outer(dir), 0); err != nil {
			t.Fatal(err)
		}
		install(t, tree, options(t, "v1.0.0"))
		if text := faults(tree) + beside(t, tree); text != "" {
			t.Errorf("%s: %s", dir, text)
		}
	}
}

// What an upgrade made that the version before had not is gone when it is taken back.
func TestUpgradeTakesNewFilesBack(t *testing.T) {
	needsRoot(t)
	for _, socket := range allSockets() {
		tree := image(t)
		install(t, tree, options(t, "v1.0.0"))
		names := []string{unitDir + "/" + socket, wantsDir + "/" + socket}
		for _, name := range names {
			if err := os.Remove(tree.Outer(name)); err != nil {
				t.Fatal(err)
			}
		}
		p, err := tree.Plan(options(t, "v2.0.0"))
		if err != nil {
			t.Fatal(err)
		}
		units := &recorded{}
		ctx, cancel := context.WithCancel(context.Background())
		err = p.Upgrade(ctx, units, func(ctx context.Context) error {
			cancel() // who waits gives up: all is put back all the same
			return ctx.Err()
		})
		// A socket whose file is gone cannot be stopped any more: that comes first.
		if !errors.Is(err, context.Canceled) || !slices.Equal(units.told,
			[]string{"restart", "start", "stop", "restart", "start"}) {
			t.Errorf("%s: %v, %v", socket, err, units.told)
		}
		for _, name := range names {
			if _, err := os.Lstat(tree.Outer(name)); err == nil {
				t.Errorf("%s is left", name)
			}
		}
	}
}

// A plan is made anew under the lock: what it saw before may have been another command's half-done work.
func TestAPlanOfBeforeIsMadeAnew(t *testing.T) {
	needsRoot(t)
	tree := image(t)
	o := options(t, "v1.0.0")
	p, err := tree.Plan(o)
	if err != nil {
		t.Fatal(err)
	}
	removal, err := tree.PlanRemoval(true)
	if err != nil {
		t.Fatal(err)
	}
	install(t, tree, options(t, "v2.0.0"))
	if _, err := p.Apply(context.Background(), nil); err != nil {
		t.Errorf("applied: %v", err)
	}
	if text := faults(tree); text != "" || !strings.Contains(read(t, tree.Outer(ProgramDir+"/belay")), "v1.0.0") {
		t.Errorf("not whole: %s", text)
	}
	if err := removal.Apply(context.Background(), nil); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(tree.Outer(system.ConfigDir)); err == nil {
		t.Error("a removal that saw nothing removed nothing")
	}
}

// A removal takes the lock's file away while another command is about to take it: that lock keeps none out.
func TestALockWithoutItsFileIsNone(t *testing.T) {
	tree := image(t)
	put(t, tree.Outer(lockFile), "", 0o600)
	f, err := os.Open(tree.Outer(lockFile))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if !tree.is(lockFile, int(f.Fd())) {
		t.Error("the file is not known again")
	}
	if err := os.Remove(tree.Outer(lockFile)); err != nil {
		t.Fatal(err)
	}
	if tree.is(lockFile, int(f.Fd())) {
		t.Error("a file that is gone is the lock")
	}
	put(t, tree.Outer(lockFile), "", 0o600)
	if tree.is(lockFile, int(f.Fd())) {
		t.Error("another file is the lock")
	}
}

// What an upgrade puts back is what answered last, not what a killed upgrade before it left.
func TestAnUpgradeAfterAKilledOneIsPutBack(t *testing.T) {
	needsRoot(t)
	for _, n := range []int{3, 20, 30, 40, 50} {
		tree := image(t)
		install(t, tree, options(t, "v1.0.0"))
		older(t, tree, unitDir+"/belay.service")
		before := read(t, tree.Outer(unitDir+"/belay.service"))
		if !killedAfter(t, "upgrade", tree, options(t, "v2.0.0"), n) {
			break
		}
		p, err := tree.Plan(options(t, "v3.0.0"))
		if err != nil {
			t.Fatal(err)
		}
		silent := errors.New("connection refused")
		if err := p.Upgrade(context.Background(), &recorded{}, func(context.Context) error { return silent }); !errors.Is(
			err,
			silent,
		) {
			t.Errorf("after %d changes: %v", n, err)
		}
		for _, name := range Programs() {
			if got := read(t, tree.Outer(ProgramDir+"/"+name)); !strings.Contains(got, "v1.0.0") {
				t.Errorf("after %d changes: %s is %s", n, name, got)
			}
		}
		if text := faults(tree) + beside(t, tree); text != "" || read(t, tree.Outer(unitDir+"/belay.service")) != before {
			t.Errorf("after %d changes: the unit is not put back: %s", n, text)
		}
	}
}

// A plan that is made while another command is at work may see files of one time and the record of another: that is no
// foreign file.
func TestAPlanWhileAnotherCommandIsAtWork(t *testing.T) {
	needsRoot(t)
	tree := image(t)
	install(t, tree, options(t, "v1.0.0"))
	next := options(t, "v2.0.0")
	tree.changed = func(string, string) error { // between the record and the files
		tree.changed = nil
		other, err := openTree(tree.dir, os.Geteuid())
		if err != nil {
			t.Fatal(err)
		}
		defer other.Close()
		install(t, other, next)
		return nil
	}
	if _, err := tree.Plan(options(t, "v3.0.0")); !errors.Is(err, ErrBusy) {
		t.Errorf("planned: %v", err)
	}
	put(t, tree.Outer(ProgramDir+"/belay"), "foreign", 0o755)
	if _, err := tree.Plan(options(t, "v3.0.0")); !errors.Is(err, ErrUnsafe) {
		t.Errorf("planned over a foreign file: %v", err)
	}
}
