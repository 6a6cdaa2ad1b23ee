package eventpack_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/s2"

	"github.com/belay-hooks/belay/internal/eventpack"
)

const hook = `,"id":"019e704b-dd37-712e-b609-98f014a6f28a","type":"hook","time":"2026-05-28T20:34:40.56764528Z",` +
	`"invocation":"019e704b-dd37-75cd-99cb-42f3912cc1b2","phase":"pre_tool","runtime":"claude-code",` +
	`"session":"019e704b-dd37-7d95-ba28-6c5dc06c14c6","tool":"write","binding":"command-guard",` +
	`"hook_digest":"sha256:8d3ea9daa3b92c26b40385a6f6287150f1d6083778933234c683d7cf2a659801","decision":"none"}`

// pack packs texts that lie one behind the other.
func pack(t testing.TB, c *eventpack.Codec, texts ...[]byte) []byte {
	t.Helper()
	var ends []int
	text := bytes.Join(texts, nil)
	for _, b := range texts {
		ends = append(ends, len(b)+len(slices.Concat(texts[:len(ends)]...)))
	}
	out, err := c.Append(nil, text, ends)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestPacksOpen(t *testing.T) {
	c := eventpack.New()
	r := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, 100_000)
	for i := range noise {
		noise[i] = ' ' + byte(r.IntN(224))
	}
	for name, texts := range map[string][][]byte{
		"one":          {[]byte(hook)},
		"several":      {[]byte(hook), []byte(strings.ReplaceAll(hook, "hook", "verdict")), []byte("x"), []byte(hook)},
		"as many":      slices.Repeat([][]byte{[]byte(hook)}, eventpack.MaxTexts),
		"empty ones":   {nil, []byte("a"), nil},
		"noise":        {noise[:70_000], noise[70_000:]},
		"one letter":   {bytes.Repeat([]byte("a"), eventpack.MaxBytes)},
		"several runs": {bytes.Repeat([]byte("a"), 300_000), bytes.Repeat([]byte("b"), 300_000)},
	} {
		p := pack(t, c, texts...)
		got, err := c.Open(p)
		if err != nil || !slices.EqualFunc(got, texts, bytes.Equal) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if p := pack(t, c, []byte(hook), []byte(hook)); len(p) > len(hook)*3/5 {
		t.Errorf("two events of %d bytes take %d", len(hook), len(p))
	}
}

// What repeats itself, the dictionary or nothing comes back, whatever its length and wherever it does so.
func TestWhatRepeatsComesBack(t *testing.T) {
	c := eventpack.New()
	r := rand.New(rand.NewPCG(3, 4))
	dictionary, err := os.ReadFile("dictionary1.txt")
	if err != nil {
		t.Fatal(err)
	}
	dictionary = bytes.ReplaceAll(dictionary, []byte("\n"), nil)
	for range 3000 {
		var text []byte
		for want := 1 + r.IntN(1<<(1+r.IntN(16))); len(text) < want; {
			part := make([]byte, 1+r.IntN(80)) // noise
			for i := range part {
				part[i] = ' ' + byte(r.IntN(224))
			}
			switch r.IntN(4) {
			case 0:
				from := r.IntN(len(dictionary))
				part = dictionary[from:min(len(dictionary), from+1+r.IntN(300))]
			case 1, 2:
				if len(text) > 0 {
					from := r.IntN(len(text))
					part = bytes.Clone(text[from:min(len(text), from+1+r.IntN(700))])
				}
			case 3:
				if r.IntN(8) == 0 {
					part = bytes.Repeat(part[:1], 1+r.IntN(5000))
				}
			}
			text = append(text, part...)
		}
		p := pack(t, c, text)
		if got, err := c.Open(p); err != nil || len(got) != 1 || !bytes.Equal(got[0], text) {
			t.Fatalf("%d bytes: %v", len(text), err)
		}
		if len(p) > len(text)+12 {
			t.Fatalf("%d bytes take %d", len(text), len(p))
		}
	}
}

// A dictionary that is changed without a new number would make earlier packs unreadable.
func TestPacksOfEarlierVersionsOpen(t *testing.T) {
	text, err := os.ReadFile("testdata/pack1.hex")
	if err != nil {
		t.Fatal(err)
	}
	p, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	got, err := eventpack.New().Open(p)
	if err != nil || len(got) != 2 || string(got[0]) != hook ||
		string(got[1]) != strings.ReplaceAll(hook, "hook", "verdict") {
		t.Errorf("%q, %v", got, err)
	}
}

func TestTooMuchForAPack(t *testing.T) {
	c := eventpack.New()
	small, large := []byte(hook), make([]byte, 20_000)
	for name, tc := range map[string]struct {
		texts [][]byte
		want  int
	}{
		"none":           {nil, 0},
		"few":            {[][]byte{small, small, small}, 3},
		"many":           {slices.Repeat([][]byte{[]byte("a")}, 100), eventpack.MaxTexts},
		"a large one":    {[][]byte{large, small}, 1},
		"a large second": {[][]byte{small, large}, 1},
		"too large":      {[][]byte{make([]byte, eventpack.MaxBytes+1)}, 0},
	} {
		if got := eventpack.Fit(tc.texts); got != tc.want {
			t.Errorf("%s: %d, want %d", name, got, tc.want)
		}
	}
	for name, tc := range map[string]struct {
		text []byte
		ends []int
	}{
		"no texts":  {nil, nil},
		"empty":     {nil, []int{0, 0}},
		"too many":  {nil, make([]int, eventpack.MaxTexts+1)},
		"too large": {make([]byte, eventpack.MaxBytes+1), []int{eventpack.MaxBytes + 1}},
		"a rest":    {[]byte("ab"), []int{1}},
		"a control": {[]byte("a\x01b"), []int{3}},
	} {
		if out, err := c.Append([]byte("x"), tc.text, tc.ends); err == nil || string(out) != "x" {
			t.Errorf("%s: %d bytes, %v", name, len(out), err)
		}
	}
}

// refusals are packs that Open must not take.
func refusals(t testing.TB) map[string][]byte {
	c := eventpack.New()
	good := pack(t, c, []byte(hook))
	block := func(plain []byte) []byte { return s2.Encode(nil, plain) }
	headed := func(length int, block []byte) []byte {
		return append(binary.AppendUvarint([]byte{1, 1}, uint64(length)), block...)
	}
	marked := append([]byte{1}, make([]byte, 32)...)
	return map[string][]byte{
		"nothing":               {},
		"another dictionary":    append([]byte{2}, good[1:]...),
		"no texts":              append([]byte{1, 0}, good[2:]...),
		"too many texts":        append([]byte{1, eventpack.MaxTexts + 1}, good[2:]...),
		"no lengths":            {1, 1},
		"a length in two ways":  append([]byte{1, 1, good[2], good[3] | 0x80, 0}, good[4:]...),
		"no block":              headed(3, nil),
		"no text":               headed(0, block(nil)),
		"cut":                   good[:len(good)-1],
		"something behind":      append(slices.Clone(good), 0),
		"a bomb":                headed(256<<20, block(make([]byte, 256<<20))),
		"a bomb, said small":    headed(100, block(make([]byte, 256<<20))),
		"shorter than it says":  headed(len(hook)+1, good[4:]),
		"longer than it says":   headed(len(hook)-1, good[4:]),
		"a digest that is cut":  headed(65, block(append([]byte("a"), marked[:32]...))),
		"a digest too many":     headed(65, block(append([]byte("ab"), marked...))),
		"not compressed at all": []byte(`{"seq":1}`),
	}
}

func TestWhatIsNoPackIsRefused(t *testing.T) {
	c := eventpack.New()
	for name, p := range refusals(t) {
		if texts, err := c.Open(p); !errors.Is(err, eventpack.ErrDamaged) {
			t.Errorf("%s: %d texts, %v", name, len(texts), err)
		}
	}
}

// A pack that says more than it holds is refused before memory is taken for it.
func TestABombTakesLittleMemory(t *testing.T) {
	c := eventpack.New()
	if _, err := c.Open(pack(t, c, []byte(hook))); err != nil {
		t.Fatal(err)
	}
	block := s2.Encode(nil, make([]byte, 64<<20))
	for _, length := range []uint64{100, eventpack.MaxBytes, 64 << 20} {
		bomb := append(binary.AppendUvarint([]byte{1, 1}, length), block...)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := c.Open(bomb)
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; !errors.Is(err, eventpack.ErrDamaged) || used > eventpack.MaxBytes {
			t.Errorf("%d: %d bytes, %v", length, used, err)
		}
	}
}

// Digests are found wherever they stand, and come back as they were.
func TestDigestsComeBack(t *testing.T) {
	c := eventpack.New()
	digest := strings.Repeat("0123456789abcdef", 4)
	for _, text := range []string{digest, "x" + digest, digest + "x", digest[1:], digest + "0", digest + digest,
		strings.ToUpper(digest), "g" + digest[1:] + digest, `"sha256:` + digest + `"` + digest[:40] + "é" + digest} {
		got, err := c.Open(pack(t, c, []byte(text)))
		if err != nil || string(got[0]) != text {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
	if p := pack(t, c, []byte(digest)); len(p) > 45 {
		t.Errorf("a digest takes %d bytes", len(p))
	}
}

func FuzzOpen(f *testing.F) {
	c := eventpack.New()
	f.Add(pack(f, c, []byte(hook), []byte(hook)))
	for name, p := range refusals(f) {
		if len(p) < 10_000 {
			f.Add(p)
		} else if !strings.Contains(name, "bomb") {
			f.Error(name, "is large")
		}
	}
	f.Fuzz(func(t *testing.T, p []byte) {
		texts, err := c.Open(p)
		if err != nil {
			if !errors.Is(err, eventpack.ErrDamaged) {
				t.Error(err)
			}
			return
		}
		total := 0
		for _, b := range texts {
			total += len(b)
		}
		if total > eventpack.MaxBytes || len(texts) > eventpack.MaxTexts {
			t.Fatalf("%d texts of %d bytes", len(texts), total)
		}
		again, err := c.Open(pack(t, c, texts...))
		if err != nil || !slices.EqualFunc(again, texts, bytes.Equal) {
			t.Errorf("packed again: %v", err)
		}
	})
}

// woven makes a text out of a program: each step of four bytes takes a piece of the program, of the dictionary or of
// the text so far, again and again where it is short.
func woven(program, dictionary []byte) (text []byte) {
	for len(program) >= 4 && len(text) < eventpack.MaxBytes/2 {
		at, length := int(program[1])<<8|int(program[2]), 1+int(program[3])
		from := dictionary
		switch kind := program[0] % 8; kind {
		case 0, 1:
			from = program
		case 2, 3: // near
			from, at = text, len(text)-1-at%64
		case 4, 5: // far
			from, at, length = text, len(text)-1-at, length*int(1+program[0]/8)
		case 6:
			length *= int(1 + program[0]/8)
		}
		if program = program[4:]; len(from) == 0 {
			continue
		}
		at = max(0, at) % len(from)
		for range length {
			text = append(text, from[at])
			if at++; at == len(from) {
				if at = 0; &from[0] != &dictionary[0] {
					break
				}
			}
		}
	}
	for i, b := range text {
		if b == 1 {
			text[i] = 2 // no text of JSON holds it
		}
	}
	return text
}

// What is packed is what opens, whatever repeats in it and how far away.
func FuzzPack(f *testing.F) {
	c := eventpack.New()
	dictionary, err := os.ReadFile("dictionary1.txt")
	if err != nil {
		f.Fatal(err)
	}
	dictionary = bytes.ReplaceAll(dictionary, []byte("\n"), nil)
	f.Add([]byte(hook), uint32(0))
	r := rand.New(rand.NewPCG(5, 6))
	for n := range 12 {
		program := make([]byte, 4<<n)
		for i := range program {
			program[i] = byte(r.IntN(256))
		}
		f.Add(program, r.Uint32())
	}
	f.Fuzz(func(t *testing.T, program []byte, filling uint32) {
		text := woven(program, dictionary)
		if filling%4 == 0 { // up to where offsets and positions need two bytes, and beyond
			text = append(text, bytes.Repeat([]byte{'x'}, int(filling/4%(70<<10)))...)
			text = append(text, text[:len(text)/2]...)
		}
		if len(text) == 0 {
			return
		}
		before := []byte("before")
		p, err := c.Append(before, text, []int{len(text) / 2, len(text)})
		if err != nil || !bytes.HasPrefix(p, before) {
			t.Fatalf("%d bytes: %v", len(text), err)
		}
		got, err := c.Open(p[len(before):])
		if err != nil || len(got) != 2 || !bytes.Equal(slices.Concat(got...), text) {
			t.Fatalf("%d bytes: %v", len(text), err)
		}
	})
}

func BenchmarkPack(b *testing.B) {
	c := eventpack.New()
	verdict := strings.ReplaceAll(hook, "hook", "verdict")
	text := []byte(hook + verdict)
	ends := []int{len(hook), len(text)}
	var p []byte
	b.Run("append", func(b *testing.B) {
		for b.Loop() {
			var err error
			if p, err = c.Append(p[:0], text, ends); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("open", func(b *testing.B) {
		for b.Loop() {
			if _, err := c.Open(p); err != nil {
				b.Fatal(err)
			}
		}
	})
}
