package toolrun

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/confine"
	"github.com/belay-hooks/belay/internal/files"
	"github.com/belay-hooks/belay/internal/system"
	"github.com/belay-hooks/belay/phases"
)

// placesOf is what the entry of a server opens to it. What reach leaves unrestricted opens nothing: then the server has
// what every server has. temp is the server's own directory, in tempRoot.
func placesOf(s config.MCPServer, tempRoot, temp string) (confine.Server, error) {
	out := confine.Server{Program: s.Command[0], Temp: temp}
	closed := []string{system.StateDir, system.RunDir, tempRoot}
	var err error
	if out.Read, err = opened(s.Reach.FSRead, "fs_read", closed); err != nil {
		return out, err
	}
	if out.Write, err = opened(s.Reach.FSWrite, "fs_write", closed); err != nil {
		return out, err
	}
	if s.CWD != "" && s.CWD != "/" {
		dir, err := opened(phases.Scope{s.CWD}, "cwd", closed)
		if err != nil {
			return out, err
		}
		out.Read = append(out.Read, dir...)
	}
	return out, nil
}

// opened returns the real paths of a scope's patterns. Some are refused: with them a server could reach what belongs to
// belay, or to another user's server. What does not exist is left out.
func opened(scope phases.Scope, key string, closed []string) ([]string, error) {
	if slices.Contains(scope, "*") {
		return nil, nil
	}
	var out []string
	for _, pattern := range scope {
		dir := strings.TrimSuffix(pattern, "/**")
		if dir == "" {
			dir = "/"
		}
		path, err := files.RealPath("/", dir)
		if err != nil {
			return nil, fmt.Errorf("%s names %s, which belay-tools cannot look at", key, dir)
		}
		for _, c := range closed {
			real, err := files.RealPath("/", c)
			if err != nil {
				return nil, fmt.Errorf("%s cannot be looked at", c)
			}
			if files.Contains(path, real) || files.Contains(real, path) {
				return nil, fmt.Errorf("%s opens %s, and with it %s: no server may reach that", key, dir, c)
			}
		}
		if _, err := os.Lstat(path); err == nil {
			out = append(out, path)
		}
	}
	return out, nil
}
