package eventpack

import (
	"bytes"
	"encoding/hex"
)

// Most of what is new in an event are digests in hexadecimal form, which a compressor without
// statistics leaves as long as they are. So 64 digits become 33 bytes first.

const (
	digits = 64
	mark   = 1 // stands before the 32 bytes of such a digest
)

// squeeze appends text, which must not hold the mark, to dst, with the first 64 digits of each
// run of them as bytes.
func squeeze(dst, text []byte) []byte {
	done := 0 // text up to here is in dst
	for at := 0; at+digits <= len(text); {
		// No digest begins before what is not a digit, which is most often found at once.
		last := at + digits - 1
		for last >= at && (text[last]-'0' < 10 || text[last]-'a' < 6) {
			last--
		}
		if last >= at {
			at = last + 1
			continue
		}
		dst = append(append(dst, text[done:at]...), mark)
		dst, _ = hex.AppendDecode(dst, text[at:at+digits])
		at += digits
		done = at
	}
	return append(dst, text[done:]...)
}

// spread appends the text of so many bytes of which squeeze has made short to dst. False means
// that there is none.
func spread(dst, short []byte, length int) ([]byte, bool) {
	for {
		at := bytes.IndexByte(short, mark)
		if at < 0 {
			dst = append(dst, short...)
			return dst, len(dst) == length
		}
		dst, short = append(dst, short[:at]...), short[at+1:]
		if len(short) < digits/2 || len(dst)+digits > length {
			return dst, false
		}
		dst, short = hex.AppendEncode(dst, short[:digits/2]), short[digits/2:]
	}
}
