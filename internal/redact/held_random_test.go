package redact

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"strings"
)

// Alphabets of the token formats.
const (
	heldLower = "abcdefghijklmnopqrstuvwxyz"
	heldUpper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	heldDigit = "0123456789"
	heldHex   = heldDigit + "abcdef"
	heldAlnum = heldLower + heldUpper + heldDigit
	heldURL   = heldAlnum + "-_"
	heldB64   = heldAlnum + "+/"
	heldB32   = heldUpper + "234567"
)

// held draws the parts of the held-out corpus; the same seed draws the same
// corpus.
type held struct{ *rand.Rand }

func newHeld(seed uint64) held { return held{rand.New(rand.NewPCG(seed, 0x6865_6c64))} }

func (h held) of(alphabet string, n int) string {
	var b strings.Builder
	for range n {
		b.WriteByte(alphabet[h.IntN(len(alphabet))])
	}
	return b.String()
}

func (h held) one(of ...string) string { return of[h.IntN(len(of))] }

func (h held) hex(n int) string   { return h.of(heldHex, n) }
func (h held) alnum(n int) string { return h.of(heldAlnum, n) }
func (h held) url(n int) string {
	// The last character is a letter or digit, so that a text that ends
	// after it has a clear end.
	return h.of(heldURL, n-1) + h.of(heldAlnum, 1)
}

func (h held) bytes(n int) []byte {
	out := make([]byte, n)
	for i := range out {
		out[i] = byte(h.UintN(256))
	}
	return out
}

func (h held) b64(bytes int) string    { return base64.StdEncoding.EncodeToString(h.bytes(bytes)) }
func (h held) b64url(bytes int) string { return base64.RawURLEncoding.EncodeToString(h.bytes(bytes)) }

func (h held) uuid() string {
	x := hex.EncodeToString(h.bytes(16))
	return fmt.Sprintf("%s-%s-4%s-a%s-%s", x[:8], x[8:12], x[13:16], x[17:20], x[20:])
}

// lines is base64 of n bytes wrapped like a PEM body.
func (h held) lines(n, width int) []string {
	s := h.b64(n)
	var out []string
	for len(s) > width {
		out = append(out, s[:width])
		s = s[width:]
	}
	return append(out, s)
}

func (h held) jwt() string {
	head := base64.RawURLEncoding.EncodeToString(
		[]byte(h.one(`{"alg":"HS256","typ":"JWT"}`, `{"typ":"JWT","alg":"ES256","kid":"`+h.alnum(6)+`"}`)))
	body := base64.RawURLEncoding.EncodeToString([]byte(`{"sub":"` + h.alnum(8) + `","iat":1763000000}`))
	return head + "." + body + "." + h.b64url(h.IntN(2)*32+32)
}

// password is what a person or a password manager picks.
func (h held) password() string {
	switch h.IntN(5) {
	case 0:
		return h.alnum(12 + h.IntN(12))
	case 1:
		return h.of(heldAlnum+"!%*+-_^~", 15) + h.alnum(1)
	case 2:
		return h.one("Winter", "Sommer", "Falcon", "Dragon", "Kestrel") + h.of(heldDigit, 4) + h.one("!", "!!", "x7")
	case 3:
		return h.one("maple", "copper", "harbor", "violet") + "-" + h.one("tiger", "anchor", "candle", "rocket") + "-" +
			h.of(heldDigit, 2) + "-" + h.one("onion", "ladder", "pebble")
	default:
		return h.hex(24)
	}
}
