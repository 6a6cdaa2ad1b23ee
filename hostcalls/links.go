package hostcalls

import (
	"context"
	"path"
	"slices"
	"strings"
)

// How a walk along a path can end.
const (
	WalkResolved = "resolved" // every element was looked at
	WalkPartial  = "partial"  // some could not be told, or were not to be looked at, and count as no links
	WalkAbsent   = "absent"   // every element was looked at until one was not there
	WalkLoop     = "loop"     // links in a circle, a limit, or the context is done
)

// maxLinks is how many links are followed for one path, as the kernel of most systems does.
const maxLinks = 40

// LinkWalk follows symbolic links element by element, as a POSIX system does when it
// opens a path. What it finds holds for the moment of each look: between that and the
// use of a file somebody can put a link in its place. It is used by one goroutine.
type LinkWalk struct {
	// Read says what is at a clean absolute path; State is as in FileRead.
	Read func(ctx context.Context, path string) FileRead
	// MayLook limits the walk: Read is never asked about a path for which it is
	// false. Nil allows every path.
	MayLook func(path string) bool
	// MaxElements bounds the elements of one walk, those of links on the way included.
	MaxElements int
	// Elements counts the elements of all walks.
	Elements int
}

// Walked is where a walk has led.
type Walked struct {
	Path  string   // clean and absolute
	Rest  []string // elements after Path that were not reached: none when the state is resolved
	State string   // a Walk constant
}

// Whole is Path with the elements that were not reached, taken as they are written.
func (w Walked) Whole() string { return path.Join(append([]string{w.Path}, w.Rest...)...) }

// Climbs reports whether elements that were not reached lead up again. No system goes
// on from a place where nothing is; a program that cleans a path first does.
func (w Walked) Climbs() bool { return slices.Contains(w.Rest, "..") }

// Follow walks along p, which is absolute and need not be clean: ".." counts from
// where the links before it have led.
func (l *LinkWalk) Follow(ctx context.Context, p string) Walked {
	done, rest := "/", strings.Split(strings.Trim(p, "/"), "/")
	state := WalkResolved
	for links, n := 0, 0; len(rest) > 0; n++ {
		if n == l.MaxElements || ctx.Err() != nil {
			return Walked{done, rest, WalkLoop}
		}
		l.Elements++
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
		if l.MayLook != nil && !l.MayLook(next) {
			done, state = next, WalkPartial
			continue
		}
		switch read := l.Read(ctx, next); read.State {
		case fileLink:
			if links++; links > maxLinks {
				return Walked{next, rest, WalkLoop}
			}
			rest = append(strings.Split(read.Target, "/"), rest...)
			if strings.HasPrefix(read.Target, "/") {
				done = "/"
			}
		case fileAbsent:
			if state == WalkResolved {
				state = WalkAbsent // below a place that could not be told, this is no news
			}
			return Walked{next, rest, state}
		case filePlain:
			done = next
		default:
			done, state = next, WalkPartial
		}
	}
	return Walked{done, nil, state}
}

// ReadLink asks the file system what is at a path.
func ReadLink(ctx context.Context, files FileSystem, p string) FileRead {
	target, err := files.Readlink(ctx, p)
	r := FileRead{Path: p, State: fileState(err)}
	if err == nil {
		r.Target = target
	}
	return r
}
