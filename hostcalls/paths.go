package hostcalls

import (
	"context"
	"slices"
	"strings"

	"github.com/belay-hooks/belay/internal/links"
	"github.com/belay-hooks/belay/internal/paths"
	"github.com/belay-hooks/belay/phases"
)

const (
	maxPaths     = 64
	maxPathText  = 4 << 10
	maxFileReads = 512 // different places looked at in one turn
	maxElements  = 512 // elements of one path, those of links on the way included
	pathFuel     = 20_000
	fileReadFuel = 5_000
	elementFuel  = 500
	patternFuel  = 10 // for each pattern of the file scopes, for each element
	pathByteFuel = 20 // for each byte of the answer: some characters are decomposed into eighteen
)

func pathResolve(ctx context.Context, session *Session, args *Args) (Result, error) {
	var req pathQuery
	if err := strictObject(args.In[0], &req); err != nil || req.CWD != "" && !strings.HasPrefix(req.CWD, "/") {
		return Result{Code: int64(Invalid)}, nil
	}
	if len(req.Paths) > maxPaths {
		return Result{Code: int64(TooLarge)}, nil
	}
	cwd := req.CWD
	if cwd == "" {
		cwd = session.cfg.CWD
	}
	reply := pathReply{Results: []pathResult{}}
	before, size := len(session.fileReads), 0
	walk := &links.Walk{Read: session.readlink, MayLook: session.mayLook, MaxElements: maxElements}
	fuel := func() int64 {
		perElement := int64(elementFuel + patternFuel*(len(session.cfg.Scopes.FSRead)+len(session.cfg.Scopes.FSWrite)))
		return int64(len(reply.Results)+1)*pathFuel + int64(len(session.fileReads)-before)*fileReadFuel +
			int64(walk.Elements)*perElement + int64(size)*pathByteFuel
	}
	for _, p := range req.Paths {
		if len(p) > maxPathText {
			return Result{Code: int64(TooLarge), Fuel: fuel()}, nil
		}
		n := paths.Normalize(p, cwd, session.cfg.Home)
		result := pathResult{Input: p, Path: n.Path, Key: n.Key, Keys: n.Keys, Absolute: n.Absolute, Notes: n.Notes}
		result.Links = "unknown"
		if session.cfg.Files != nil && n.Absolute {
			w := session.readings(ctx, walk, n)
			result.Resolved, result.Links = w[0].Whole(), w[0].State
			for _, other := range w[1:] {
				result.also(other.Whole())
			}
		}
		if ctx.Err() != nil {
			return Result{}, ctx.Err()
		}
		if args.spent(fuel()) {
			return Result{Fuel: fuel()}, nil
		}
		if result.Resolved != "" && result.Resolved != result.Path {
			result.also(result.Resolved)
		}
		// A name of bytes that are no text can be on a disk and behind file:, but not in JSON.
		result.Path, result.Resolved = strings.ToValidUTF8(result.Path, "\uFFFD"),
			strings.ToValidUTF8(result.Resolved, "\uFFFD")
		size += len(result.Path) + len(result.Resolved)
		for _, k := range result.Keys {
			size += len(k)
		}
		if size > session.limits.Reply {
			return Result{Code: int64(TooLarge), Fuel: fuel()}, nil
		}
		reply.Results = append(reply.Results, result)
	}
	return session.answer(reply, fuel())
}

// readings follows the links of a path as it is written, which is what systems do
// with .. behind a link, and, where that differs, as it is once cleaned, which is what
// programs do that clean a path before they use it. First comes the one that leads
// somewhere: systems go no further than a place where nothing is.
func (s *Session) readings(ctx context.Context, walk *links.Walk, n paths.Normal) []links.Walked {
	written := walk.Follow(ctx, n.Walk)
	if !slices.Contains(strings.Split(n.Walk, "/"), "..") {
		return []links.Walked{written}
	}
	cleaned := walk.Follow(ctx, n.Path)
	if written.State == links.Absent && written.Climbs() {
		return []links.Walked{cleaned, written}
	}
	return []links.Walked{written, cleaned}
}

// also adds the keys of another path that may be meant.
func (r *pathResult) also(p string) {
	for _, k := range paths.Normalize(p, "", "").Keys {
		if !slices.Contains(r.Keys, k) {
			r.Keys = append(r.Keys, k)
		}
	}
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
func (s *Session) readlink(ctx context.Context, p string) links.Found {
	if i, ok := s.fileSeen[p]; ok {
		return s.fileReads[i]
	}
	if len(s.fileReads) >= maxFileReads {
		return links.Found{Path: p, State: links.Unknown}
	}
	r := links.Look(ctx, s.cfg.Files, p)
	if s.fileSeen == nil {
		s.fileSeen = map[string]int{}
	}
	s.fileSeen[p] = len(s.fileReads)
	s.fileReads = append(s.fileReads, r)
	return r
}
