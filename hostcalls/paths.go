package hostcalls

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/belay-hooks/belay/hostcalls/paths"
	"github.com/belay-hooks/belay/phases"
)

const (
	maxPaths     = 64
	maxPathText  = 4 << 10
	maxLinks     = 40  // links followed for one path, as the kernel of most systems does
	maxFileReads = 512 // different places looked at in one turn
	maxElements  = 512 // elements of one path, those of links on the way included
	pathFuel     = 20_000
	fileReadFuel = 5_000
	elementFuel  = 500
	patternFuel  = 10 // for each pattern of the file scopes, for each element
	pathByteFuel = 20 // for each byte of the answer: some characters are decomposed into eighteen
)

func pathResolve(ctx context.Context, s *Session, a *Args) (Result, error) {
	var req PathRequest
	if err := strictObject(a.In[0], &req); err != nil || req.CWD != "" && !strings.HasPrefix(req.CWD, "/") {
		return Result{Code: int64(Invalid)}, nil
	}
	if len(req.Paths) > maxPaths {
		return Result{Code: int64(TooLarge)}, nil
	}
	cwd := req.CWD
	if cwd == "" {
		cwd = s.cfg.CWD
	}
	reply := PathReply{Results: []PathResult{}}
	before, elements, size := len(s.fileReads), 0, 0
	fuel := func() int64 {
		perElement := int64(elementFuel + patternFuel*(len(s.cfg.Scopes.FSRead)+len(s.cfg.Scopes.FSWrite)))
		return int64(len(reply.Results)+1)*pathFuel + int64(len(s.fileReads)-before)*fileReadFuel +
			int64(elements)*perElement + int64(size)*pathByteFuel
	}
	for _, p := range req.Paths {
		if len(p) > maxPathText {
			return Result{Code: int64(TooLarge), Fuel: fuel()}, nil
		}
		n := paths.Normalize(p, cwd, s.cfg.Home)
		r := PathResult{Input: p, Path: n.Path, Key: n.Key, Keys: n.Keys, Absolute: n.Absolute, Notes: n.Notes}
		r.Resolved, r.Links = s.follow(ctx, n.Path, n.Absolute, &elements)
		if ctx.Err() != nil {
			return Result{}, ctx.Err()
		}
		if r.Resolved != "" && r.Resolved != r.Path {
			for _, k := range paths.Normalize(r.Resolved, "", "").Keys {
				if !slices.Contains(r.Keys, k) {
					r.Keys = append(r.Keys, k)
				}
			}
		}
		// A name of bytes that are no text can be on a disk and behind file:, but not in JSON.
		r.Path, r.Resolved = strings.ToValidUTF8(r.Path, "\uFFFD"), strings.ToValidUTF8(r.Resolved, "\uFFFD")
		size += len(r.Path) + len(r.Resolved)
		for _, k := range r.Keys {
			size += len(k)
		}
		if size > s.limits.Reply {
			return Result{Code: int64(TooLarge), Fuel: fuel()}, nil
		}
		reply.Results = append(reply.Results, r)
	}
	return s.answer(reply, fuel())
}

// follow resolves symbolic links, element by element, so that no element
// outside of the file scopes is ever looked at. A path of too many elements ends
// like one that turns in circles. elements counts the work.
func (s *Session) follow(ctx context.Context, p string, absolute bool, elements *int) (resolved, state string) {
	if s.cfg.Files == nil || !absolute {
		return "", "unknown"
	}
	done, rest := "/", strings.Split(strings.Trim(p, "/"), "/")
	state = "resolved"
	for links, n := 0, 0; len(rest) > 0; n++ {
		if n == maxElements || ctx.Err() != nil {
			return path.Join(append([]string{done}, rest...)...), "loop"
		}
		*elements++
		name := rest[0]
		rest = rest[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			done = path.Dir(done)
			continue
		}
		next := path.Join(done, name)
		if !s.mayLook(next) {
			done, state = next, "partial"
			continue
		}
		read := s.readlink(ctx, next)
		switch read.State {
		case "link":
			if links++; links > maxLinks {
				return path.Join(append([]string{next}, rest...)...), "loop"
			}
			rest = append(strings.Split(read.Target, "/"), rest...)
			if strings.HasPrefix(read.Target, "/") {
				done = "/"
			}
		case "absent":
			return path.Join(append([]string{next}, rest...)...), "absent"
		case "unknown":
			done, state = next, "partial"
		default:
			done = next
		}
	}
	return done, state
}

// mayLook reports whether the invocation's scopes let the action read or write there.
func (s *Session) mayLook(p string) bool {
	return inScope(s.cfg.Scopes.FSRead, p) || inScope(s.cfg.Scopes.FSWrite, p)
}

// inScope also admits the directories that lead to a pattern: without them no
// link on the way could be seen.
func inScope(scope phases.Scope, p string) bool {
	if scope == nil {
		return true
	}
	for _, pattern := range scope {
		if pattern == "*" {
			return true
		}
		dir, tree := strings.CutSuffix(pattern, "/**")
		if p == dir || tree && below(dir, p) || below(p, dir) {
			return true
		}
	}
	return false
}

// below reports whether p lies below dir; the root is "" or "/".
func below(dir, p string) bool {
	dir = strings.TrimSuffix(dir, "/")
	return len(p) > len(dir) && p[len(dir)] == '/' && strings.HasPrefix(p, dir)
}

// readlink asks the file system once per place and turn, and records the answer.
func (s *Session) readlink(ctx context.Context, p string) FileRead {
	if i, ok := s.fileSeen[p]; ok {
		return s.fileReads[i]
	}
	if len(s.fileReads) >= maxFileReads {
		return FileRead{Path: p, State: "unknown"}
	}
	target, err := s.cfg.Files.Readlink(ctx, p)
	r := FileRead{Path: p, State: "unknown"}
	switch {
	case err == nil:
		r.State, r.Target = "link", target
	case errors.Is(err, ErrNotLink):
		r.State = "plain"
	case errors.Is(err, fs.ErrNotExist):
		r.State = "absent"
	}
	if s.fileSeen == nil {
		s.fileSeen = map[string]int{}
	}
	s.fileSeen[p] = len(s.fileReads)
	s.fileReads = append(s.fileReads, r)
	return r
}
