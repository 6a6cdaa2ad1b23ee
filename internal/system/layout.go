package system

import (
	"path/filepath"
	"strconv"

	"github.com/belay-hooks/belay/internal/daemonapi"
)

// Where the parts of system mode are.
const (
	ConfigDir  = "/etc/belay"           // the organisation's files: root's
	ConfigFile = daemonapi.SystemConfig // its presence is system mode
	StateDir   = "/var/lib/belay"       // the daemon's: keys, logs, databases
	RunDir     = daemonapi.SystemDir    // the sockets: root's, so that no other user can take their place

	File      = "system.yaml"
	User      = "belay"       // whom the daemon runs as
	ToolsUser = "belay-tools" // whom the MCP servers of hooks run as
	// ToolsSocket is where the daemon has such a server started.
	ToolsSocket = RunDir + "/tools.sock"
)

// UserDir returns the state directory of what a user's agents ask, below state.
func UserDir(state string, uid int) string {
	return filepath.Join(state, "users", strconv.Itoa(uid))
}

// MachineDir returns the state directory of what belongs to no user: refused callers, and the daemon itself.
func MachineDir(state string) string { return filepath.Join(state, "machine") }

// Places are the directories of system mode. They are those of this machine's layout, but in a test.
type Places struct {
	Config, State, Run string
}

// Standard returns where everything is on a machine.
func Standard() Places { return Places{Config: ConfigDir, State: StateDir, Run: RunDir} }
