package eventpack

import (
	"bytes"
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"github.com/klauspost/compress/s2"
)

// MaxTexts is how many texts a pack holds at most, and MaxBytes the bytes of all of them
// together.
const (
	MaxTexts = 64
	MaxBytes = 1 << 20
)

// wanted is the size, in bytes, from which on a pack takes no further text: each one that is
// read costs the reading of its pack.
const wanted = 16 << 10

// dictionaryNumber is the first byte of each pack. A dictionary that is changed needs another
// number.
const dictionaryNumber = 1

//go:embed dictionary1.txt
var dictionary []byte

// firstRepeat says where in the dictionary a text usually begins to repeat it, from its end.
const firstRepeat = 1500

// ErrDamaged is the class of errors of Open: the bytes are not a pack.
var ErrDamaged = errors.New("not a pack of events")

func damaged(what string) error { return fmt.Errorf("%w: %s", ErrDamaged, what) }

// Codec packs and opens. It is safe for concurrent use. The tables that it needs for that, about
// 20 KB, it makes when it is first used.
type Codec struct {
	dictionary func() (*s2.Dict, *encoder)
	buffers    sync.Pool // of *[]byte: squeezed texts
}

// New returns a codec.
func New() *Codec {
	return &Codec{
		dictionary: sync.OnceValues(func() (*s2.Dict, *encoder) {
			short := squeeze(nil, bytes.ReplaceAll(dictionary, []byte("\n"), nil)) // lines are for readers
			first := len(short) - firstRepeat
			dict := s2.MakeDictManual(short, uint16(first))
			return dict, newEncoder(short, first, dict)
		}),
		buffers: sync.Pool{New: func() any { return new([]byte) }},
	}
}

// maxKept is the largest buffer, in bytes, that is kept for the next pack.
const maxKept = 64 << 10

func (c *Codec) giveBack(buffer *[]byte) {
	if cap(*buffer) <= maxKept {
		c.buffers.Put(buffer)
	}
}

// Fit returns how many of the texts, from the first on, go into the next pack. 0 means that the
// first is too long for any.
func Fit(texts [][]byte) (n int) {
	total := 0
	for n < len(texts) && n < MaxTexts {
		total += len(texts[n])
		if total > MaxBytes || n > 0 && total > wanted {
			break
		}
		n++
	}
	return n
}

// Append appends a pack of the texts, which are one behind the other in memory, to dst. ends
// says where each one ends in text. It takes as many as Fit allows; not all of them are empty,
// and none holds the byte 1, which JSON never does.
func (c *Codec) Append(dst []byte, text []byte, ends []int) ([]byte, error) {
	if len(ends) == 0 || len(ends) > MaxTexts || len(text) == 0 || len(text) > MaxBytes || ends[len(ends)-1] != len(text) {
		return dst, errors.New("these texts do not go into a pack")
	}
	if bytes.IndexByte(text, mark) >= 0 {
		return dst, errors.New("a text holds a control character")
	}
	buffer := c.buffers.Get().(*[]byte)
	defer c.giveBack(buffer)
	short := squeeze((*buffer)[:0], text)
	*buffer = short
	dst = append(dst, dictionaryNumber, byte(len(ends)))
	start := 0
	for _, end := range ends {
		dst = binary.AppendUvarint(dst, uint64(end-start))
		start = end
	}
	_, e := c.dictionary()
	return e.encode(dst, short), nil
}

// Open returns the texts of a pack. The error is ErrDamaged.
func (c *Codec) Open(pack []byte) ([][]byte, error) {
	if len(pack) == 0 || pack[0] != dictionaryNumber {
		return nil, damaged("its dictionary")
	}
	ends, block, err := lengths(pack[1:])
	if err != nil {
		return nil, err
	}
	total := ends[len(ends)-1]
	length, err := s2.DecodedLen(block)
	if err != nil || length > total {
		return nil, damaged("its length")
	}
	buffer := c.buffers.Get().(*[]byte)
	defer c.giveBack(buffer)
	if cap(*buffer) < length {
		*buffer = make([]byte, 0, length)
	}
	dict, _ := c.dictionary()
	short, err := dict.Decode((*buffer)[:length], block)
	if err != nil {
		return nil, damaged(err.Error())
	}
	text, ok := spread(make([]byte, 0, total), short, total)
	if !ok {
		return nil, damaged("its texts are not as long as it says")
	}
	out := make([][]byte, len(ends))
	start := 0
	for i, end := range ends {
		out[i], start = text[start:end:end], end
	}
	return out, nil
}

// lengths reads what stands before the block.
func lengths(pack []byte) (ends []int, block []byte, err error) {
	if len(pack) == 0 || pack[0] == 0 || pack[0] > MaxTexts {
		return nil, nil, damaged("the number of its texts")
	}
	ends, block = make([]int, pack[0]), pack[1:]
	total := uint64(0)
	for i := range ends {
		length, n := binary.Uvarint(block)
		if n <= 0 || n > 1 && block[n-1] == 0 || length > MaxBytes || total+length > MaxBytes {
			return nil, nil, damaged("the lengths of its texts")
		}
		total += length
		ends[i], block = int(total), block[n:]
	}
	if total == 0 {
		return nil, nil, damaged("it holds no text")
	}
	return ends, block, nil
}
