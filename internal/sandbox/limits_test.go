package sandbox

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

// The limits of a compiler process, value by value.
func TestCompilerLimitsOfEachClass(t *testing.T) {
	for class, want := range map[Class]compilerLimits{
		AdHoc:     {cpu: 4, data: 448 << 20, wall: 20 * time.Second, code: 32 << 20},
		Installed: {cpu: 15, data: 1216 << 20, wall: 60 * time.Second, code: 128 << 20},
	} {
		if got := class.compilerLimits(); got != want {
			t.Errorf("class %d: %+v, want %+v", class, got, want)
		}
	}
}

// What a process may say ends at its bound: one byte more ends what writes, or is thrown away.
func TestBounded(t *testing.T) {
	for _, rest := range []bool{false, true} {
		w := &bounded{most: 4, rest: rest}
		if n, err := w.Write([]byte("abcd")); n != 4 || err != nil {
			t.Errorf("rest %v: %d %v for as much as there is room", rest, n, err)
		}
		n, err := w.Write([]byte("e"))
		if rest && (n != 1 || err != nil) || !rest && (n != 0 || !errors.Is(err, io.ErrShortWrite)) {
			t.Errorf("rest %v: %d %v for one byte more", rest, n, err)
		}
		if w.b.String() != "abcd" {
			t.Errorf("rest %v: kept %q", rest, w.b.String())
		}
	}
}

// A request is read up to its bounds and not beyond.
func TestRequestBounds(t *testing.T) {
	head := func(cpu uint32, data, code uint64, size uint32) []byte {
		b := binary.BigEndian.AppendUint32([]byte(compilerAsks), cpu)
		b = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(b, data), code)
		return binary.BigEndian.AppendUint32(b, size)
	}
	good := head(1, 1, 1, 0)
	for name, c := range map[string]struct {
		b  []byte
		ok bool
	}{
		"least":            {good, true},
		"most":             {head(math.MaxUint32, math.MaxUint64, math.MaxInt32, maxMetered), true},
		"no time":          {head(0, 1, 1, 0), false},
		"no memory":        {head(1, 0, 1, 0), false},
		"no code":          {head(1, 1, 0, 0), false},
		"too much code":    {head(1, 1, math.MaxInt32+1, 0), false},
		"too great":        {head(1, 1, 1, maxMetered+1), false},
		"another protocol": {append([]byte("belay compile 2\n"), good[len(compilerAsks):]...), false},
		"cut":              {good[:len(good)-1], false},
		"empty":            {nil, false},
	} {
		if _, _, err := readLimits(bytes.NewReader(c.b)); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
	l, size, err := readLimits(bytes.NewReader(head(2, 3, 4, 5)))
	if err != nil || size != 5 || l != (compilerLimits{cpu: 2, data: 3, code: 4}) {
		t.Errorf("%+v %d %v", l, size, err)
	}
}

// An answer is read up to its bounds and not beyond, and whole or not at all.
func TestAnswerBounds(t *testing.T) {
	const most = 100
	digest := strings.Repeat("0", 31) + "9" + strings.Repeat("f", 31) + "a"
	at := func(id, name string, content int) []byte {
		return answer(&compiledEntry{identity: id, name: name, content: make([]byte, content)})
	}
	for name, c := range map[string]struct {
		b    []byte
		want string // in the error; empty: none
	}{
		"all at their bounds": {at(strings.Repeat("i", 256), digest, most), ""},
		"nothing in it":       {at("", digest, 0), ""},
		"long identity":       {at(strings.Repeat("i", 257), digest, 1), "part 1 has 257 bytes, at most 256"},
		"long name":           {at("i", digest+"0", 1), "part 2 has 65 bytes, at most 64"},
		"much code":           {at("i", digest, most+1), "part 3 has 101 bytes, at most 100"},
		"short name":          {at("i", digest[1:], 1), "the name of the file"},
		"no name":             {at("i", "", 1), "the name of the file"},
		"more behind":         {append(at("i", digest, 1), 0), "1 bytes behind the code"},
		"another protocol":    {append([]byte("belay compiled 2\n"), at("i", digest, 1)[len(compilerAnswers):]...), "form"},
	} {
		e, err := readAnswer(c.b, most)
		if c.want == "" && (err != nil || !bytes.Equal(answer(e), c.b)) ||
			c.want != "" && (e != nil || !errors.Is(err, errWire) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	whole := at("i", digest, 9)
	for n := range whole {
		if e, err := readAnswer(whole[:n], most); err == nil || e != nil {
			t.Fatalf("%d of %d bytes are an answer", n, len(whole))
		}
	}
	for _, c := range []byte("/:`gAF.\x00\xff") {
		if isEntryName(string(c) + digest[1:]) {
			t.Errorf("%q stands in the name of a file", c)
		}
	}
}

// compiledFile is a file of the engine's cache, the way it is written.
type compiledFile struct {
	magic, version, code string
	count                uint32
	offsets              []uint64
	size                 uint64
	sum                  uint32
	sources              byte
	handlers             uint32
}

func (f *compiledFile) bytes() []byte {
	b := append([]byte(f.magic), byte(len(f.version)))
	b = binary.LittleEndian.AppendUint32(append(b, f.version...), f.count)
	for _, at := range f.offsets {
		b = binary.LittleEndian.AppendUint64(b, at)
	}
	b = append(binary.LittleEndian.AppendUint64(b, f.size), f.code...)
	b = append(binary.LittleEndian.AppendUint32(b, f.sum), f.sources)
	return binary.LittleEndian.AppendUint32(b, f.handlers)
}

// A file of compiled code is held against its form at every place of it.
func TestEntryBounds(t *testing.T) {
	check := func(change func(*compiledFile)) error {
		f := &compiledFile{magic: "WAZEVO", version: "v1", code: "code", count: 2, offsets: []uint64{0, 3}, size: 4}
		f.sum = crc32.Checksum([]byte(f.code), crc32.MakeTable(crc32.Castagnoli))
		change(f)
		return checkEntry(f.bytes(), "v1", 2)
	}
	if err := check(func(*compiledFile) {}); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change func(*compiledFile)
		want   string
	}{
		"magic":             {func(f *compiledFile) { f.magic = "WAZEVA" }, "no code of this engine"},
		"version":           {func(f *compiledFile) { f.version = "v2" }, "version"},
		"one more":          {func(f *compiledFile) { f.count = 3 }, "3 functions, the module has 2"},
		"one less":          {func(f *compiledFile) { f.count = 1 }, "1 functions, the module has 2"},
		"at the end":        {func(f *compiledFile) { f.offsets[1] = 4 }, "function 1 is at 4 of 4"},
		"at the same place": {func(f *compiledFile) { f.offsets[0] = 3 }, "function 1 is at 3 of 4"},
		"the first outside": {func(f *compiledFile) { f.offsets = []uint64{4, 5} }, "function 0 is at 4 of 4"},
		"more code":         {func(f *compiledFile) { f.size = 1 << 20 }, io.ErrUnexpectedEOF.Error()},
		"endless code":      {func(f *compiledFile) { f.size = math.MaxUint64 }, io.ErrUnexpectedEOF.Error()},
		"sum":               {func(f *compiledFile) { f.sum ^= 1 }, "wrong sum"},
		"other code":        {func(f *compiledFile) { f.code = "cold" }, "wrong sum"},
		"sources":           {func(f *compiledFile) { f.sources = 1 }, "sources"},
		"handlers":          {func(f *compiledFile) { f.handlers = 1 }, "exceptions"},
	} {
		if err := check(c.change); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	var whole []byte
	_ = check(func(f *compiledFile) { whole = f.bytes() })
	for n := range whole {
		if checkEntry(whole[:n], "v1", 2) == nil {
			t.Fatalf("%d of %d bytes pass", n, len(whole))
		}
	}
	if err := checkEntry(append(slices.Clone(whole), 0), "v1", 2); err == nil ||
		!strings.Contains(err.Error(), "1 bytes too many") {
		t.Error(err)
	}
}
