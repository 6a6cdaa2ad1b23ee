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
	"github.com/belay-hooks/belay/internal/toolrun"
)

// systemd's own program finds no fault in the units, and little that the daemon could reach.
func TestSystemdUnderstandsTheUnits(t *testing.T) {
	analyze, ok := find("systemd-analyze")
	if !ok {
		t.Skip("systemd-analyze is missing: scripts/setup installs it")
	}
	dir := t.TempDir()
	for _, name := range allUnits() {
		// It looks whether the program is there.
		text := strings.ReplaceAll(string(unit(name)), ProgramDir+"/belay ", "/bin/sh ")
		text = strings.ReplaceAll(text, "ExecReload=/bin/kill ", "ExecReload=/bin/sh ") // of another package
		put(t, filepath.Join(dir, name), text, 0o644)
	}
	for _, name := range allUnits() {
		if out, err := exec.Command(analyze, "verify", filepath.Join(dir, name)).CombinedOutput(); err != nil ||
			len(out) > 0 {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
	for _, name := range []string{Service, ToolsService} {
		out, err := exec.Command(analyze, "security", "--offline=yes", "--threshold=16", "--no-pager",
			filepath.Join(dir, name)).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		level := regexp.MustCompile(`exposure level for belay\S*\.service: ([0-9.]+)`).FindSubmatch(out)
		if level == nil {
			t.Fatalf("%s", out)
		}
		if n, err := strconv.ParseFloat(string(level[1]), 64); err != nil || n > 1.6 {
			t.Errorf("%s: exposure %s, want 1.6 at most\n%s", name, level[1], out)
		}
	}
}

// What the units say is what belay does.
func TestUnitsFitTheDaemon(t *testing.T) {
	service := string(unit(Service))
	for _, want := range []string{"User=" + system.User, "ExecStart=" + ProgramDir + "/belay serve --system",
		"NoNewPrivileges=yes", "CapabilityBoundingSet=\n", "landlock_restrict_self", "Type=notify",
		"\nCPUWeight=500\n", "\nIOWeight=500\n", "\nOOMScoreAdjust=-500\n"} { // the last three: every agent waits for it
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
	tools, socket := string(unit(ToolsService)), string(unit(ToolsSocket))
	for _, want := range []string{"User=" + system.ToolsUser, "ExecStart=-" + ProgramDir + "/belay serve --tools",
		"NoNewPrivileges=yes",
		"CapabilityBoundingSet=\n", "landlock_restrict_self", "InaccessiblePaths=-" + system.StateDir + " -" +
			system.RunDir + "\n",
		"Slice=" + ToolsSlice, "KillMode=mixed", "MemoryMax=", "TasksMax="} {
		if !strings.Contains(tools, want) {
			t.Errorf("%s has no %s", ToolsService, want)
		}
	}
	for line := range strings.Lines(tools) { // Node.js could not run; and it could not be told who asks
		if strings.HasPrefix(line, "MemoryDenyWriteExecute=") || strings.HasPrefix(line, "PrivateUsers=") {
			t.Errorf("%s has %s", ToolsService, line)
		}
	}
	for _, want := range []string{"ListenStream=" + system.ToolsSocket, "SocketMode=0660", "SocketUser=root",
		"SocketGroup=" + system.User, "Accept=yes", "MaxConnections=64"} {
		if !strings.Contains(socket, want+"\n") {
			t.Errorf("%s has no %s", ToolsSocket, want)
		}
	}
	if text := string(unit("tmpfiles.conf")); !strings.Contains(text, system.RunDir) ||
		!strings.Contains(text, system.StateDir) {
		t.Error(text)
	}
}

// What holds MCP servers is green only where all of it does.
func TestStatusOfToolServers(t *testing.T) {
	held := toolrun.Report{Version: "v1", UID: 998, Landlock: 7, NoNewPrivs: true, Filtered: true, Powerless: true}
	for name, c := range map[string]struct {
		change func(*toolrun.Report)
		want   string
	}{
		"held":              {func(*toolrun.Report) {}, ""},
		"no Landlock":       {func(r *toolrun.Report) { r.Landlock = 0 }, "fail their Landlock"},
		"an early Landlock": {func(r *toolrun.Report) { r.Landlock = 5 }, "warn their Landlock"},
		"no filter":         {func(r *toolrun.Report) { r.Filtered = false }, "fail their unit"},
		"new privileges":    {func(r *toolrun.Report) { r.NoNewPrivs = false }, "fail their unit"},
		"capabilities":      {func(r *toolrun.Report) { r.Powerless = false }, "fail their unit"},
	} {
		r := held
		c.change(&r)
		got := ""
		for _, row := range heldRows(r) {
			if row.State != Good {
				got += string(row.State) + " " + row.What
			}
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestStatusOfTheProcess(t *testing.T) {
	held := confine.Process{"Name": "belay", "NoNewPrivs": "1", "Seccomp": "2", "CapBnd": "0000000000000000"}
	report := confine.Report{PID: 7, Landlock: 6, Engine: confine.Compiler}
	red := func(r confine.Report, status confine.Process) string {
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
		status := confine.Process{}
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
	if got := confine.ProcessOf(os.Getpid()); got["Name"] == "" || got["CapBnd"] == "" {
		t.Errorf("this process: %v", got)
	}
}

func TestDropInsThatTakeWallsAway(t *testing.T) {
	walls := wallsOf(unit(Service))
	var shown strings.Builder
	for name, value := range walls {
		shown.WriteString(name + "=" + value + "\n")
	}
	if len(walls) < 18 || walls["ProtectSystem"] != "strict" || walls["User"] != system.User {
		t.Errorf("walls: %v", walls)
	}
	if rows := missingWalls(walls, []byte(shown.String()+"TasksMax=5000\n")); len(rows) != 0 {
		t.Errorf("red without a reason: %+v", rows)
	}
	text := strings.Replace(shown.String(), "ProtectHome=yes\n", "ProtectHome=no\n", 1)
	rows := missingWalls(walls, []byte(text))
	if len(rows) != 1 || rows[0].State != Bad || !strings.Contains(rows[0].Text, "ProtectHome=no (the unit says yes)") {
		t.Errorf("without ProtectHome: %+v", rows)
	}
	if rows := missingWalls(walls, []byte(strings.Replace(shown.String(), "ProtectProc=invisible\n", "",
		1))); len(rows) != 0 {
		t.Errorf("a systemd that does not know ProtectProc: %+v", rows)
	}
}
