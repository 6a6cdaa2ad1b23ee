// Package links follows symbolic links in a path, element by element and within limits. A walk
// looks through a function of its caller. The package never opens, lists or changes a file.
package links

import (
	"context"
	"path"
	"slices"
	"strings"
)

// How a walk along a path can end.
const (
	Resolved = "resolved" // every element was looked at
	Partial  = "partial"  // some could not be told, or were not to be looked at, and count as no links
	Absent   = "absent"   // every element was looked at until one was not there
	Loop     = "loop"     // links in a circle, a limit, or the context is done
)

// maxLinks is how many links are followed for one path, as the kernel of most systems does.
const maxLinks = 40

// Walk resolves symbolic links element by element, as a POSIX system does when
// it opens a path. Each finding holds for the moment of its look: between that
// and the use of a file a program can put a link in its place. It is used by
// one goroutine.
type Walk struct {
	// Read looks at a clean absolute path; State is as in Found.
	Read func(ctx context.Context, path string) Found
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
func (l *Walk) Follow(ctx context.Context, p string) Walked {
	done, rest := "/", strings.Split(strings.Trim(p, "/"), "/")
	state := Resolved
	for links, n := 0, 0; len(rest) > 0; n++ {
		if n == l.MaxElements || ctx.Err() != nil {
			return Walked{done, rest, Loop}
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
			done, state = next, Partial
			continue
		}
		switch read := l.Read(ctx, next); read.State {
		case Link:
			if links++; links > maxLinks {
				return Walked{next, rest, Loop}
			}
			rest = append(strings.Split(read.Target, "/"), rest...)
			if strings.HasPrefix(read.Target, "/") {
				done = "/"
			}
		case NotThere:
			if state == Resolved {
				state = Absent // below a place that is not known, absence tells nothing
			}
			return Walked{next, rest, state}
		case Plain:
			done = next
		default:
			done, state = next, Partial
		}
	}
	return Walked{done, nil, state}
}

// linkReader tells the targets of symbolic links, with errors as hostcalls.FileSystem has them.
type linkReader interface {
	Readlink(ctx context.Context, path string) (target string, err error)
}

// Look looks at a path in the file system.
func Look(ctx context.Context, files linkReader, p string) Found {
	target, err := files.Readlink(ctx, p)
	r := Found{Path: p, State: StateOf(err)}
	if err == nil {
		r.Target = target
	}
	return r
}
