package system

import (
	"path/filepath"
	"strconv"
)

// Where the parts of system mode are.
const (
	ConfigDir  = "/etc/belay"           // the organisation's files: root's
	ConfigFile = ConfigDir + "/" + File // its presence is system mode
	StateDir   = "/var/lib/belay"       // the daemon's: keys, logs, databases
	RunDir     = "/run/belay"           // the sockets: root's, so that no other user can take their place

	File      = "system.yaml"
	User      = "belay"       // whom the daemon runs as
	ToolsUser = "belay-tools" // whom MCP servers run as
)

// UserDir returns the state directory of what a user's agents ask, below state.
func UserDir(state string, uid int) string {
	return filepath.Join(state, "users", strconv.Itoa(uid))
}
