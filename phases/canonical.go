package phases

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"math"
	"strconv"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// Canonical returns raw in the canonical form of RFC 8785: no white space,
// members sorted by UTF-16 code units, strings in their shortest spelling,
// numbers as a double prints in ECMAScript.
//
// One deviation, because digests bind approvals to actions: a number that a
// double cannot carry (more digits than it keeps, or out of its range) keeps its
// exact decimal value, written as DIGITSeEXPONENT, instead of being rounded to the
// same text as its neighbours. RFC 7493 tells senders to avoid such numbers;
// for documents without them the form is exactly that of RFC 8785.
//
// The error is a *DecodeError: raw is not strict JSON.
func Canonical(raw jsontext.Value) (jsontext.Value, error) {
	if err := checkJSON(raw, limits{maxBytes: math.MaxInt, maxDepth: maxCanonicalDepth}); err != nil {
		return nil, err
	}
	return canonicalStrict(raw)
}

// canonicalStrict is Canonical of what is known to be strict JSON.
func canonicalStrict(raw jsontext.Value) (jsontext.Value, error) {
	w := canonicalWriter{out: make([]byte, 0, len(raw))}
	if err := w.write(raw); err != nil {
		return nil, err
	}
	return w.out, nil
}

// maxCanonicalDepth is what jsontext itself can nest, with room to spare.
const maxCanonicalDepth = 9000

// Digest returns "sha256:" and the hexadecimal SHA-256 of the canonical form.
func Digest(raw jsontext.Value) (string, error) {
	c, err := Canonical(raw)
	if err != nil {
		return "", err
	}
	return ByteDigest(c), nil
}

// ByteDigest returns "sha256:" and the hexadecimal SHA-256 of the bytes as they are: how belay
// writes the digest of a file, a module or a configuration.
func ByteDigest(b []byte) string {
	sum := sha256.Sum256(b)
	return SumDigest(sum[:])
}

// SumDigest is ByteDigest of bytes whose SHA-256 is known.
func SumDigest(sum []byte) string {
	var room [7 + 2*sha256.Size]byte
	return string(hex.AppendEncode(append(room[:0], "sha256:"...), sum))
}

// ActionDigest returns the digest of what an invocation's action does: the
// canonical action without call_id and duration_ms, which differ from call to
// call, and without the credential headers, which no record may depend on.
func ActionDigest(inv Invocation) (string, error) {
	action, err := Comparable(inv.Phase, inv.Action)
	if err != nil {
		return "", err
	}
	return Digest(action)
}

// Buffers lend the memory in which canonical forms are written before they are hashed. The zero value is ready, and
// safe for concurrent use; with nil, each form is written in memory of its own. Nothing that is returned lies in it.
type Buffers struct{ idle sync.Pool } // of *canonicalWriter

// maxIdle is the largest buffer, in bytes, that is kept for the next form.
const maxIdle = 2 << 20

func (b *Buffers) get() *canonicalWriter {
	if b != nil {
		if w, ok := b.idle.Get().(*canonicalWriter); ok {
			return w
		}
	}
	return new(canonicalWriter)
}

func (b *Buffers) put(w *canonicalWriter) {
	if w.src = nil; b != nil && cap(w.out) <= maxIdle && cap(w.spare) <= maxIdle {
		b.idle.Put(w)
	}
}

// digestStrict is ActionDigest of an action that is known to be strict JSON, and about which more may be known.
func (b *Buffers) digestStrict(p Phase, action jsontext.Value, known Checked) (string, error) {
	action, _, err := hideCredentials(p, action)
	if err != nil {
		return "", err
	}
	w := b.get()
	defer b.put(w)
	w.compact = known.Compact(action)
	if err := w.write(action, "call_id", "duration_ms"); err != nil {
		return "", err
	}
	return ByteDigest(w.out), nil
}

// Comparable returns an action without what ActionDigest leaves out: actions that are
// the same question have the same canonical form then.
func Comparable(p Phase, action jsontext.Value) (jsontext.Value, error) {
	action, _, err := hideCredentials(p, action)
	if err != nil {
		return nil, err
	}
	for _, ptr := range []string{"/call_id", "/duration_ms"} {
		if _, ok := Get(action, ptr); ok {
			if action, err = remove(action, ptr); err != nil {
				return nil, err
			}
		}
	}
	return action, nil
}

// Same reports whether two values have the same canonical form.
func Same(a, b jsontext.Value) bool {
	if string(a) == string(b) {
		return true
	}
	if structure(a) != structure(b) { // cheap, and most that differ differ in this
		return false
	}
	ca, errA := Canonical(a)
	cb, errB := Canonical(b)
	return errA == nil && errB == nil && string(ca) == string(cb)
}

// structure counts the objects, arrays and commas of valid JSON, which have the
// same numbers in every spelling of a value.
func structure(v []byte) (n [3]int) {
	for i := 0; i < len(v); i++ {
		switch v[i] {
		case '"':
			end, _ := skipString(v, i)
			i = end - 1
		case '{':
			n[0]++
		case '[':
			n[1]++
		case ',':
			n[2]++
		}
	}
	return n
}

// appendNumber appends the canonical spelling of a JSON number.
func appendNumber(dst []byte, src string) []byte {
	if isShortInteger(src) {
		return append(dst, src...)
	}
	exact := decimalOf(src)
	if exact.digits == "0" {
		return append(dst, '0') // RFC 8785: also for -0
	}
	f, err := strconv.ParseFloat(src, 64)
	if err == nil && !math.IsInf(f, 0) {
		es := jsontext.AppendFloat(nil, f, 64)
		if decimalOf(string(es)) == exact {
			return append(dst, es...)
		}
		// More digits than a double keeps: RFC 8785 would round. Only such
		// numbers take the other form, so no two values share a spelling.
	}
	if exact.negative {
		dst = append(dst, '-')
	}
	return append(append(append(dst, exact.digits...), 'e'), exact.exponent...)
}

// isShortInteger reports an integer whose canonical spelling is the one that it has.
func isShortInteger(src string) bool {
	digits := strings.TrimPrefix(src, "-")
	if digits == "" || len(digits) > 15 || digits[0] == '0' && len(src) > 1 {
		return false
	}
	for i := 0; i < len(digits); i++ {
		if digits[i] < '0' || digits[i] > '9' {
			return false
		}
	}
	return true
}

// decimal is the exact value of a JSON number: digits without zeros at either
// end, times ten to the exponent.
type decimal struct {
	negative bool
	digits   string
	exponent string
}

func decimalOf(src string) decimal {
	var d decimal
	src, d.negative = strings.CutPrefix(src, "-")
	mantissa, exp := src, ""
	if i := strings.IndexAny(src, "eE"); i >= 0 {
		mantissa, exp = src[:i], src[i+1:]
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	if digits == "" {
		return decimal{digits: "0", exponent: "0"}
	}
	d.digits = strings.TrimRight(digits, "0")
	shift := int64(len(digits)-len(d.digits)) - int64(len(fraction))
	d.exponent = addExponent(exp, shift)
	return d
}

// addExponent adds a small number to a decimal exponent, which checkNumbers has bounded.
func addExponent(exp string, n int64) string {
	e, _ := strconv.ParseInt(strings.TrimPrefix(exp, "+"), 10, 64) // "" is 0
	return strconv.FormatInt(e+n, 10)
}

// maxExponentDigits bounds exponents so that sums of them fit 64 bits.
const maxExponentDigits = 17

// checkNumber refuses a number whose exponent has no use but to make trouble. It stands in v from i to end.
func checkNumber(v []byte, i, end int) error {
	for e := i; e < end; e++ {
		if v[e]|32 != 'e' {
			continue
		}
		if len(bytes.TrimLeft(v[e+1:end], "+-0")) > maxExponentDigits {
			return newDecodeError(v, "", i, "a number has an exponent beyond any use")
		}
		break
	}
	return nil
}

// checkNumbers is checkNumber of all numbers in v from i to end.
func checkNumbers(v []byte, i, end int) error {
	for i < end {
		switch c := v[i]; {
		case c == '"':
			i, _ = skipString(v, i)
		case c == '-' || (c >= '0' && c <= '9'):
			next, _ := skipValue(v, i)
			if err := checkNumber(v, i, next); err != nil {
				return err
			}
			i = next
		default:
			i++
		}
	}
	return nil
}
