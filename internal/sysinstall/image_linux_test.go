package sysinstall

import (
	"bytes"
	"context"
	"debug/elf"
	"encoding/binary"
	"errors"
	"os"
	"strings"
	"testing"
)

// elfProgram is an ELF file for that processor, which needs that loader ("": none). It cannot be run.
func elfProgram(t *testing.T, name string, machine elf.Machine, loader string) {
	t.Helper()
	h := elf.Header64{Type: uint16(elf.ET_EXEC), Machine: uint16(machine), Version: 1, Ehsize: 64, Phentsize: 56,
		Shentsize: 64}
	copy(h.Ident[:], elf.ELFMAG+string([]byte{byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), 1}))
	var b bytes.Buffer
	var progs []elf.Prog64
	if loader != "" {
		h.Phoff, h.Phnum = 64, 1
		progs = []elf.Prog64{{Type: uint32(elf.PT_INTERP), Off: 64 + 56, Filesz: uint64(len(loader) + 1)}}
	}
	for _, part := range []any{h, progs, []byte(loader + "\x00")} {
		if err := binary.Write(&b, binary.LittleEndian, part); err != nil {
			t.Fatal(err)
		}
	}
	put(t, name, b.String(), 0o755)
}

// An image gets only programs that can be started there.
func TestImagesOfAnotherProcessor(t *testing.T) {
	needsRoot(t)
	o := options(t, "v1.0.0")
	for _, name := range Programs() {
		elfProgram(t, o.Programs[name], elf.EM_AARCH64, "")
	}
	tree := image(t)
	elfProgram(t, tree.Outer("/usr/bin/dash"), elf.EM_X86_64, "")
	if err := os.Symlink("dash", tree.Outer("/usr/bin/sh")); err != nil {
		t.Fatal(err)
	}
	_, err := tree.Plan(o)
	var refused Refused
	if !errors.As(err, &refused) || len(refused) != 3 || !strings.Contains(err.Error(), "belay is for arm64, and ") ||
		!strings.Contains(err.Error(), "/usr/bin/sh has programs for x86-64") ||
		!strings.Contains(refused[0].Advice, "GOARCH=") {
		t.Errorf("planned: %v", err)
	}

	// The same processor, which is not this machine's: nothing of the image or of belay is run.
	elfProgram(t, tree.Outer("/usr/bin/dash"), elf.EM_AARCH64, "")
	notes := install(t, tree, o)
	if len(notes) != 1 || !strings.Contains(notes[0], "no systemd in "+tree.dir) {
		t.Errorf("notes: %q", notes)
	}
	next := options(t, "v2.0.0")
	for _, name := range Programs() {
		elfProgram(t, next.Programs[name], elf.EM_AARCH64, "")
		put(t, next.Programs[name], read(t, next.Programs[name])+"newer", 0o755)
	}
	p, err := tree.Plan(next)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Upgrade(context.Background(), nil, nil); err != nil {
		t.Error(err)
	}
	if v, _, err := tree.Installed(); v != "v2.0.0" || err != nil {
		t.Error(v, err)
	}

	elfProgram(t, next.Programs["belay-hook"], elf.EM_AARCH64, "/lib/ld-linux-aarch64.so.1")
	if _, err := tree.Plan(next); !errors.As(err, &refused) || !strings.Contains(err.Error(),
		"needs /lib/ld-linux-aarch64.so.1") {
		t.Errorf("a program without its loader: %v", err)
	}
	// A link that leads out of the image is none of its programs.
	if err := os.Remove(tree.Outer("/usr/bin/sh")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/bin/sh", tree.Outer("/usr/bin/sh")); err != nil {
		t.Fatal(err)
	}
	if _, err := tree.Plan(o); err != nil {
		t.Errorf("what lies outside counts: %v", err)
	}
}

func TestSystemdOfAnImage(t *testing.T) {
	needsRoot(t)
	for library, says := range map[string]string{"usr/lib/x86_64-linux-gnu/systemd/libsystemd-shared-252.so": "",
		"usr/lib64/systemd/libsystemd-shared-255.4-1.fc40.so": "", "lib/systemd/libsystemd-shared-245.so": "systemd 245 of the image",
		"usr/lib/libc.so": ""} {
		tree := image(t)
		put(t, tree.Outer("/usr/bin/x"), "", 0o755)
		put(t, tree.Outer("/lib/systemd/systemd"), "", 0o755)
		put(t, tree.Outer("/"+library), "", 0o644)
		notes := strings.Join(install(t, tree, options(t, "v1.0.0")), "\n")
		if says == "" && notes != "" || !strings.Contains(notes, says) {
			t.Errorf("%s: %q", library, notes)
		}
	}
}
