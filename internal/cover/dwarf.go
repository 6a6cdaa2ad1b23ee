package cover

import (
	"cmp"
	"debug/dwarf"
	"slices"
)

// lines reads the line tables of the module: addresses in them are offsets from the
// start of the code section's contents, as the DWARF conventions for WebAssembly have
// it (https://yurydelendik.github.io/webassembly-dwarf/). What the linker dropped has
// addresses outside of every function, and is left out.
func (m *module) lines() (out []row) {
	defer func() {
		if recover() != nil { // a broken table is no reason to lose the rest
			out = nil
		}
	}()
	d := m.debug
	if d[".debug_line"] == nil || d[".debug_info"] == nil || d[".debug_abbrev"] == nil {
		return nil
	}
	data, err := dwarf.New(d[".debug_abbrev"], nil, nil, d[".debug_info"], d[".debug_line"], nil, d[".debug_ranges"],
		d[".debug_str"])
	if err != nil {
		return nil
	}
	for _, name := range []string{".debug_addr", ".debug_line_str", ".debug_str_offsets", ".debug_rnglists"} {
		if d[name] != nil {
			if err := data.AddSection(name, d[name]); err != nil {
				return nil
			}
		}
	}
	units := data.Reader()
	for {
		e, err := units.Next()
		if err != nil || e == nil {
			break
		}
		if e.Tag != dwarf.TagCompileUnit {
			units.SkipChildren()
			continue
		}
		if lr, err := data.LineReader(e); err == nil && lr != nil {
			rows := m.unit(lr)
			slices.SortFunc(rows, func(a, b row) int { return cmp.Compare(a.start, b.start) })
			inlined(data, units, lr.Files(), rows)
			out = append(out, rows...)
		}
	}
	slices.SortFunc(out, func(a, b row) int { return cmp.Compare(a.start, b.start) })
	return out
}

// inlined reads the rest of a compilation unit and notes in its rows the calls that
// they were inlined for. The line table names only the lines of the callee, so that a
// line which is nothing but a call to a small function would not be code at all.
func inlined(data *dwarf.Data, units *dwarf.Reader, files []*dwarf.LineFile, rows []row) {
	for depth := 1; depth > 0; {
		e, err := units.Next()
		if err != nil || e == nil {
			return
		}
		if e.Tag == 0 {
			depth--
			continue
		}
		if e.Children {
			depth++
		}
		if e.Tag != dwarf.TagInlinedSubroutine {
			continue
		}
		file, ok := e.Val(dwarf.AttrCallFile).(int64)
		line, ok2 := e.Val(dwarf.AttrCallLine).(int64)
		ranges, err := data.Ranges(e)
		if err != nil || !ok || !ok2 || line <= 0 || file < 0 || file >= int64(len(files)) || files[file] == nil {
			continue
		}
		at := place{files[file].Name, int(line)}
		for _, r := range ranges {
			list := overlapping(rows, r[0], r[1])
			for i := range list {
				if list[i].start >= r[0] && list[i].end <= r[1] {
					list[i].calls = append(list[i].calls, at)
				}
			}
		}
	}
}

// unit reads the table of one compilation unit: each row reaches to the next of its
// sequence.
func (m *module) unit(lr *dwarf.LineReader) (out []row) {
	var open *row
	for {
		var e dwarf.LineEntry
		if err := lr.Next(&e); err != nil {
			return out // at its end, or where it is broken
		}
		if open != nil && e.Address > open.start && m.inside(open.start, e.Address) {
			open.end = e.Address
			out = append(out, *open)
		}
		open = nil
		if !e.EndSequence && e.Line > 0 && e.File != nil {
			open = &row{start: e.Address, file: e.File.Name, line: e.Line}
		}
	}
}

// inside reports whether a range lies in one function.
func (m *module) inside(start, end uint64) bool {
	i, found := slices.BinarySearch(m.ends, start)
	if found {
		i++
	}
	// Compilers let the first row begin at the size of the body or its locals.
	return i < len(m.ends) && end <= m.ends[i] && (i == 0 || start >= m.ends[i-1])
}
