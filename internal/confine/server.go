package confine

import "errors"

// Server is what an MCP server of a hook works with, beside the programs and libraries of the machine, which every
// server reads and starts.
type Server struct {
	Program string   // its file
	Read    []string // files and directories
	Write   []string // directories that exist, or files, that it also reads
	Temp    string   // its own directory for temporary files
}

// ErrNoLandlock: the kernel holds no process in. Nothing would keep servers of two users apart.
var ErrNoLandlock = errors.New("this kernel has no Landlock, or it is switched off")
