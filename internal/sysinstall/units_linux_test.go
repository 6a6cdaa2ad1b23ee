package sysinstall

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/internal/confine"
	"github.com/belay-hooks/belay/internal/system"
)

// systemd's own program finds no fault in the units, and little that the daemon could reach.
func TestSystemdUnderstandsTheUnits(t *testing.T) {
	analyze, ok := find("systemd-analyze")
	if !ok {
		t.Skip("systemd-analyze is missing: scripts/setup installs it")
	}
	dir := t.TempDir()
	for _, name := range append(Sockets(), Service) {
		// It looks whether the program is there.
		text := strings.ReplaceAll(string(unit(name)), "ExecStart="+ProgramDir+"/belay ", "ExecStart=/bin/sh ")
		text = strings.ReplaceAll(text, "ExecReload=/bin/kill ", "ExecReload=/bin/sh ") // of another package
		put(t, filepath.Join(dir, name), text, 0o644)
	}
	for _, name := range append(Sockets(), Service) {
		if out, err := exec.Command(analyze, "verify", filepath.Join(dir, name)).CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
	out, err := exec.Command(analyze, "security", "--offline=yes", "--threshold=16", "--no-pager",
		filepath.Join(dir, Service)).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	level := regexp.MustCompile(`exposure level for belay\.service: ([0-9.]+)`).FindSubmatch(out)
	if level == nil {
		t.Fatalf("%s", out)
	}
	if n, err := strconv.ParseFloat(string(level[1]), 64); err != nil || n > 1.6 {
		t.Errorf("exposure %s, want 1.6 at most\n%s", level[1], out)
	}
}

// What the units say is what belay does.
func TestUnitsFitTheDaemon(t *testing.T) {
	service := string(unit(Service))
	for _, want := range []string{"User=" + system.User, "ExecStart=" + ProgramDir + "/belay serve --system",
		"NoNewPrivileges=yes", "CapabilityBoundingSet=\n", "landlock_restrict_self", "Type=notify"} {
		if !strings.Contains(service, want) {
			t.Errorf("%s has no %s", Service, want)
		}
	}
	for line := range strings.Lines(service) {
		// The interpreter, without a word; and peers whose uids the daemon could not tell.
		if strings.HasPrefix(line, "MemoryDenyWriteExecute=") || strings.HasPrefix(line, "PrivateUsers=") {
			t.Errorf("%s has %s", Service, line)
		}
	}
	for _, name := range Sockets() {
		text := string(unit(name))
		if !strings.Contains(text, "ListenStream="+system.RunDir+"/") || !strings.Contains(text, "SocketMode=0666") ||
			!strings.Contains(text, "Service="+Service) || !strings.Contains(service, name) {
			t.Errorf("%s:\n%s", name, text)
		}
	}
	if text := string(unit("tmpfiles.conf")); !strings.Contains(text, system.RunDir) || !strings.Contains(text, system.StateDir) {
		t.Error(text)
	}
}

func TestStatusOfTheProcess(t *testing.T) {
	held := map[string]string{"Name": "belay", "NoNewPrivs": "1", "Seccomp": "2", "CapBnd": "0000000000000000"}
	report := confine.Report{PID: 7, Landlock: 6, Engine: confine.Compiler}
	red := func(r confine.Report, status map[string]string) string {
		var out []string
		for _, row := range processRows(r, status) {
			if row.State == Bad {
				out = append(out, row.What)
			}
		}
		return strings.Join(out, " ")
	}
	if got := red(report, held); got != "" {
		t.Errorf("red without a reason: %s", got)
	}
	open := report
	open.Landlock, open.Engine = 0, confine.Interpreter
	if got := red(open, held); got != "Landlock engine" {
		t.Errorf("no Landlock, and the interpreter: %q", got)
	}
	for name, value := range map[string]string{"NoNewPrivs": "0", "Seccomp": "0", "CapBnd": "000001fffeffffff"} {
		status := map[string]string{}
		for k, v := range held {
			status[k] = v
		}
		status[name] = value
		if got := red(report, status); got != "unit" {
			t.Errorf("%s %s: %q", name, value, got)
		}
	}
	if rows := processRows(report, nil); len(rows) != 1 || rows[0].State != Warn {
		t.Errorf("a daemon that has ended: %+v", rows)
	}
	if got := procStatus(os.Getpid()); got["Name"] == "" || got["CapBnd"] == "" {
		t.Errorf("this process: %v", got)
	}
}
