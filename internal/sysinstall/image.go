//go:build linux

package sysinstall

import (
	"debug/elf"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"

	"github.com/belay-hooks/belay/internal/confine"
)

// oldestSystemd is the first version that knows everything in the units (PrivateIPC=).
const oldestSystemd = 248

// shells are programs that a machine has. They tell what its processor is.
func shells() []string {
	return []string{"usr/bin/env", "usr/bin/sh", "bin/sh", "usr/lib/systemd/systemd", "lib/systemd/systemd"}
}

// inside calls do with what the tree holds, as its own programs see it: links lead nowhere outside of it.
func (t *Tree) inside(do func(root *os.Root) error) error {
	root, err := os.OpenRoot(t.dir)
	if err != nil {
		return err
	}
	defer root.Close() // only read
	return do(root)
}

// runs refuses a program that the machine of the tree could not start. What is no ELF file is not looked at.
func (t *Tree) runs(program string) error {
	f, err := elf.Open(program)
	if err != nil {
		return nil // a script
	}
	defer f.Close() // only read
	return t.inside(func(root *os.Root) error {
		for _, name := range shells() {
			m, ok := machineOf(root, name)
			if !ok {
				continue
			}
			if m != f.Machine {
				return &Error{Path: program, Reason: fmt.Sprintf("is for %s, and %s has programs for %s", processor(f.Machine),
					t.Outer(name), processor(m)), Class: ErrSystem,
					Advice: "Build belay, belay-hook and belay-eval for that processor (GOARCH=); --programs names their directory."}
			}
			break
		}
		loader, err := confine.Loader(f)
		if err != nil || loader == "" {
			return nil // a file that is damaged is refused by the kernel
		}
		if _, err := root.Stat(strings.TrimPrefix(loader, "/")); err != nil {
			return &Error{Path: program, Reason: "needs " + loader + ", which is not in " + t.dir, Class: ErrSystem,
				Advice: "Build it with CGO_ENABLED=0, as make build does: then it needs no library."}
		}
		return nil
	})
}

// machineOf returns the processor of a program in the tree.
func machineOf(root *os.Root, name string) (elf.Machine, bool) {
	if fi, err := root.Stat(name); err != nil || !fi.Mode().IsRegular() {
		return 0, false
	}
	file, err := root.Open(name)
	if err != nil {
		return 0, false
	}
	defer file.Close() // only read
	f, err := elf.NewFile(file)
	if err != nil {
		return 0, false
	}
	return f.Machine, true
}

func processor(m elf.Machine) string {
	switch m {
	case elf.EM_X86_64:
		return "x86-64"
	case elf.EM_AARCH64:
		return "arm64"
	}
	return strings.ToLower(strings.TrimPrefix(m.String(), "EM_"))
}

// imageNotes says what the image lacks for belay to start there, or for the unit to hold.
func (t *Tree) imageNotes() (notes []string) {
	_ = t.inside(func(root *os.Root) error { // an image that cannot be looked at has been refused
		if _, err := root.Stat("usr/bin"); err != nil {
			return nil // an image that is filled later
		}
		version, ok := systemdOf(root)
		switch {
		case !ok:
			notes = append(notes, "there is no systemd in "+t.dir+": something else has to open the sockets and start belay there, "+
				"and every agent is blocked until then")
		case version > 0 && version < oldestSystemd:
			notes = append(notes, fmt.Sprintf("systemd %d of the image is older than %d, and leaves out what it does not know of the "+
				"unit; `belay system status` there says what holds", version, oldestSystemd))
		}
		return nil
	})
	return notes
}

// systemdOf returns the version of systemd in the tree, by the name of its library; 0 where that does not tell.
func systemdOf(root *os.Root) (version int, ok bool) {
	for _, dir := range []string{"usr/lib/systemd", "lib/systemd"} {
		fi, err := root.Stat(path.Join(dir, "systemd"))
		ok = ok || err == nil && fi.Mode().IsRegular()
	}
	for _, pattern := range []string{"usr/lib/systemd", "lib/systemd", "usr/lib64/systemd", "usr/lib/*/systemd",
		"lib/*/systemd"} {
		names, err := fs.Glob(root.FS(), path.Join(pattern, "libsystemd-shared-*"))
		if err != nil {
			continue
		}
		for _, name := range names {
			_, rest, _ := strings.Cut(path.Base(name), "shared-")
			digits := rest[:len(rest)-len(strings.TrimLeft(rest, "0123456789"))]
			if n, err := strconv.Atoi(digits); err == nil {
				return n, ok
			}
		}
	}
	return 0, ok
}
