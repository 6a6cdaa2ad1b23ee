package rules

import (
	"encoding/binary"
	"maps"
	"slices"
)

// writer builds an index. Texts stand behind everything else, each once.
type writer struct {
	b      []byte
	texts  []byte
	where  map[string]int // text -> place in texts
	fixups []int          // places in b of offsets into texts
}

func (w *writer) word(n int) { w.b = binary.LittleEndian.AppendUint32(w.b, uint32(n)) }

func (w *writer) set(at, n int) { binary.LittleEndian.PutUint32(w.b[at:], uint32(n)) }

func (w *writer) text(s string) {
	at, ok := w.where[s]
	if !ok {
		at = len(w.texts)
		w.where[s] = at
		w.texts = append(w.texts, s...)
	}
	w.fixups = append(w.fixups, len(w.b))
	w.word(at)
	w.word(len(s))
}

func (w *writer) all(list []string) {
	for _, s := range list {
		w.text(s)
	}
}

func (w *writer) list(numbers []int) (at int) {
	at = len(w.b)
	w.word(len(numbers))
	for _, n := range numbers {
		w.word(n)
	}
	return at
}

// table writes names, sorted, with the lists of rules under them; 0 when there is none.
func (w *writer) table(rules map[string][]int) (at int) {
	if len(rules) == 0 {
		return 0
	}
	names := slices.Sorted(maps.Keys(rules))
	lists := make([]int, len(names))
	for i, n := range names {
		lists[i] = w.list(rules[n])
	}
	at = len(w.b)
	w.word(len(names))
	for i, n := range names {
		w.text(n)
		w.word(lists[i])
	}
	return at
}

// windows writes a table of windows, sorted, and its filter.
func (w *writer) windows(rules map[window][]int) (table, filter int) {
	all := slices.Sorted(maps.Keys(rules))
	lists := make([]int, len(all))
	for i, win := range all {
		lists[i] = w.list(rules[win])
	}
	bits := 13
	for 1<<bits < 64*len(all) && bits < 19 {
		bits++
	}
	filter = len(w.b)
	w.word(32 - bits)
	at := len(w.b)
	w.b = append(w.b, make([]byte, 1<<bits/8)...)
	for _, win := range all {
		bit := uint32(win) * 0x9e3779b1 >> (32 - bits)
		w.b[at+int(bit>>3)] |= 1 << (bit & 7)
	}
	table = len(w.b)
	w.word(len(all))
	for i, win := range all {
		w.word(int(win))
		w.word(lists[i])
	}
	return table, filter
}

// finish puts the texts and checksums behind what was written, and returns the index.
func (w *writer) finish() []byte {
	base := len(w.b)
	for _, at := range w.fixups {
		w.set(at, base+int(binary.LittleEndian.Uint32(w.b[at:])))
	}
	w.b = append(w.b, w.texts...)
	for len(w.b)%8 != 0 {
		w.b = append(w.b, 0)
	}
	sums := len(w.b)
	blocks := (sums + blockBytes - 1) / blockBytes
	w.set(8, sums+8*blocks)
	w.set(28, sums)
	for i := range blocks {
		block := w.b[i*blockBytes : min(sums, (i+1)*blockBytes)]
		w.b = binary.LittleEndian.AppendUint64(w.b, checksum(block))
	}
	return w.b
}

func checksum(block []byte) uint64 {
	sum := uint64(0xcbf29ce484222325)
	for ; len(block) >= 8; block = block[8:] {
		sum ^= binary.LittleEndian.Uint64(block)
		sum *= 0x9e3779b97f4a7c15
		sum ^= sum >> 29
	}
	return sum
}
