package confine

import (
	"debug/elf"
	"io"
	"strings"
)

// maxLoader is the longest path of a loader, in bytes: what Linux takes for a path.
const maxLoader = 4 << 10

// Loader returns the path of the program that loads a program's libraries; "" where that has none.
func Loader(f *elf.File) (path string, err error) {
	for _, segment := range f.Progs {
		if segment.Type == elf.PT_INTERP {
			loader, err := io.ReadAll(io.LimitReader(segment.Open(), maxLoader))
			return strings.TrimRight(string(loader), "\x00"), err
		}
	}
	return "", nil
}
