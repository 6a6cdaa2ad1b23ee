package redact

import (
	"encoding/base64"
	"encoding/hex"
	"strings"
	"testing"
	"unicode/utf8"
)

// A body of base64 or hexadecimal digits is given up by its begin only if what it says is no text.
func TestBodiesThatMayBeText(t *testing.T) {
	for _, text := range []string{"password=Zk3vQ9xWb7TnRf2LpYc8", "é€😀 password=Zk3vQ9xWb7TnRf2LpYc8", "\t\r\n ~}",
		strings.Repeat("é", 20), strings.Repeat("€", 20), strings.Repeat("😀", 20)} {
		for skip := range 4 { // so that characters end everywhere in what is decoded
			s := strings.Repeat("a", skip) + text
			if b := beginOf(hex.EncodeToString([]byte(s))); !maybeText(b.hex()) {
				t.Errorf("%q, hexadecimal", s)
			}
			for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
				lines := enc.EncodeToString([]byte(s))
				for _, body := range []string{lines, lines[:7] + "\r\n\t " + lines[7:]} {
					if b := beginOf(body); !maybeText(b.base()) {
						t.Errorf("%q, base64", s)
					}
				}
			}
		}
	}
	for n := range 1 << 16 { // of all bytes that begin so, those that are given up are no text
		raw := []byte{byte(n >> 8), byte(n), 'a', 'b', 'c', 'd'}
		readable := utf8.Valid(raw)
		for _, c := range raw {
			readable = readable && !unreadable(c)
		}
		if b := beginOf(base64.StdEncoding.EncodeToString(raw)); maybeText(b.base()) != readable {
			t.Errorf("%q is text: %v", raw, readable)
		}
		if b := beginOf(hex.EncodeToString(raw)); maybeText(b.hex()) != readable {
			t.Errorf("%q in hexadecimal is text: %v", raw, readable)
		}
	}
}
