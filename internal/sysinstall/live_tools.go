//go:build linux

package sysinstall

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"syscall"

	"github.com/belay-hooks/belay/internal/system"
	"github.com/belay-hooks/belay/internal/toolrun"
)

// startTools is what mends a socket that is not as its unit makes it.
const startTools = "systemctl restart " + ToolsSocket

// toolsSocket looks at the socket where the daemon has MCP servers started. Only the daemon may connect.
func (t *Tree) toolsSocket() Row {
	f, err := t.look(system.ToolsSocket)
	row := Row{What: system.ToolsSocket, State: Bad}
	switch {
	case err != nil:
		return rowOf(system.ToolsSocket, err)
	case !f.here:
		row.Text, row.Advice = "is missing: no MCP server of a hook starts", "systemctl start "+ToolsSocket
	case f.mode.Type() != fs.ModeSocket:
		row.Text, row.Advice = "is "+kindOf(f.mode), "Look at it, and remove it."
	case f.uid != t.owner:
		row.Text, row.Advice = fmt.Sprintf("belongs to uid %d, and the daemon believes root's alone", f.uid), startTools
	case f.mode.Perm()&0o007 != 0:
		row.Text, row.Advice = fmt.Sprintf("has mode %04o: others than the daemon can connect", f.mode.Perm()), startTools
	case f.mode.Perm()&0o060 != 0o060:
		row.Text, row.Advice = fmt.Sprintf("has mode %04o: the daemon cannot connect", f.mode.Perm()), startTools
	default:
		row.State, row.Text = Good, fmt.Sprintf("socket, %04o", f.mode.Perm())
	}
	return row
}

// toolsRows ask what runs MCP servers what holds there. Only root and the daemon are answered.
func toolsRows(ctx context.Context) []Row {
	report, err := toolrun.Ask(ctx, system.ToolsSocket)
	switch {
	case errors.Is(err, syscall.EACCES), errors.Is(err, syscall.EPERM):
		return []Row{{What: "MCP servers", State: Warn, Text: "only root can ask what holds them",
			Advice: "sudo belay system status"}}
	case err != nil:
		return []Row{{What: "MCP servers", State: Bad, Text: "cannot be started: " + err.Error(),
			Advice: "systemctl restart " + ToolsSocket + "; journalctl -u 'belay-tools@*' says why"}}
	}
	return heldRows(report)
}

// heldRows say what holds the processes of MCP servers in.
func heldRows(r toolrun.Report) []Row {
	rows := []Row{{What: "MCP servers", State: Good, Text: fmt.Sprintf("run as %s (uid %d), by belay %s", system.ToolsUser,
		r.UID, r.Version)}}
	switch {
	case r.Landlock == 0:
		rows = append(rows, Row{What: "their Landlock", State: Bad, Text: "not in force, so that none of them is started",
			Advice: "Linux 5.13 or newer with landlock in lsm= of the kernel's command line"})
	case r.Landlock < signalScope:
		rows = append(rows, Row{What: "their Landlock", State: Warn, Text: "version " + strconv.Itoa(r.Landlock) +
			": servers of two users can signal each other", Advice: "Linux 6.12 or newer"})
	default:
		rows = append(rows, Row{What: "their Landlock", State: Good, Text: "in force, version " + strconv.Itoa(r.Landlock)})
	}
	if r.NoNewPrivs && r.Filtered && r.Powerless {
		return append(rows, Row{What: "their unit", State: Good, Text: "its filters of system calls and capabilities hold"})
	}
	return append(rows, Row{What: "their unit", State: Bad,
		Text: "the filters of " + ToolsService +
			" do not hold: something else started the servers, or a drop-in took them away",
		Advice: "systemctl cat " + ToolsService})
}

// signalScope is the version of Landlock from which on signals do not leave a server's processes.
const signalScope = 6
