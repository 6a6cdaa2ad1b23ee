// Package cover decides what the regions of a module that ran mean to its
// author: which functions, and, where the module has debug information, which
// lines of which source files. It reads names and DWARF from the module file as
// it was built. It never runs or validates anything, and leaves out parts that
// it cannot make sense of: a module without debug information has functions and
// no lines.
package cover

import (
	"cmp"
	"slices"
)

// Region is a stretch of code that runs as a whole. Start and End are offsets into the
// instructions of the function.
type Region struct {
	Func       uint32 // index, imports included
	Start, End int
	Hit        bool
}

// Profile is what ran of one module.
type Profile struct {
	Regions, Hit int
	Funcs        []Func // in the order of the code
	Files        []File // sorted by name; none without debug information
}

// Func is one function with its regions.
type Func struct {
	Index        uint32
	Name         string // from the name section or an export; "" when there is neither
	File         string // where it begins; "" when not known
	Line         int
	Regions, Hit int
}

// File is one source file.
type File struct {
	Name  string // as the compiler calls it
	Lines []Line // that code was made of, ascending
}

// Line is one line with the regions that hold code of it.
type Line struct {
	N            int
	Regions, Hit int
}

// Count counts the lines of a file and those of which something ran.
func (f *File) Count() (all, hit int) {
	for _, l := range f.Lines {
		if all++; l.Hit > 0 {
			hit++
		}
	}
	return all, hit
}

// New makes the profile of a module file. Regions come in the order of the code.
func New(file []byte, regions []Region) *Profile {
	p := &Profile{}
	m := readModule(file)
	rows := m.lines()
	files := map[string]map[int]*Line{}
	for i := range regions {
		r := &regions[i]
		p.Regions++
		if n := len(p.Funcs); n == 0 || p.Funcs[n-1].Index != r.Func {
			p.Funcs = append(p.Funcs, Func{Index: r.Func, Name: m.name(r.Func)})
		}
		f := &p.Funcs[len(p.Funcs)-1]
		f.Regions++
		if r.Hit {
			p.Hit++
			f.Hit++
		}
		base, ok := m.body(r.Func)
		if !ok {
			continue
		}
		seen := map[place]bool{}
		for _, row := range overlapping(rows, base+uint64(r.Start), base+uint64(r.End)) {
			if f.File == "" {
				f.File, f.Line = row.file, row.line
			}
			for _, at := range append(row.calls, place{row.file, row.line}) {
				if seen[at] {
					continue
				}
				seen[at] = true
				if files[at.file] == nil {
					files[at.file] = map[int]*Line{}
				}
				l := files[at.file][at.line]
				if l == nil {
					l = &Line{N: at.line}
					files[at.file][at.line] = l
				}
				if l.Regions++; r.Hit {
					l.Hit++
				}
			}
		}
	}
	for name, lines := range files {
		f := File{Name: name}
		for _, l := range lines {
			f.Lines = append(f.Lines, *l)
		}
		slices.SortFunc(f.Lines, func(a, b Line) int { return cmp.Compare(a.N, b.N) })
		p.Files = append(p.Files, f)
	}
	slices.SortFunc(p.Files, func(a, b File) int { return cmp.Compare(a.Name, b.Name) })
	return p
}

type place struct {
	file string
	line int
}

// row is a stretch of code that was made of one line.
type row struct {
	start, end uint64 // offsets into the code section
	file       string
	line       int
	calls      []place // in which it was inlined, from the outside in
}

// overlapping returns the rows of [start, end). rows are sorted by start and do not
// overlap one another.
func overlapping(rows []row, start, end uint64) []row {
	i, _ := slices.BinarySearchFunc(rows, start, func(r row, at uint64) int {
		if r.end <= at {
			return -1
		}
		return 1
	})
	k := i
	for k < len(rows) && rows[k].start < end {
		k++
	}
	return rows[i:k]
}
