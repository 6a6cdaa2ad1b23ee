package phases

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// newByteReader returns b in the form that the decoder reads without copying.
func newByteReader(b []byte) io.Reader { return bytes.NewBuffer(b) }

func phaseNames() string {
	var names []string
	for _, p := range Phases() {
		names = append(names, string(p))
	}
	return strings.Join(names, ", ")
}

func kindName(k jsontext.Kind) string {
	switch k {
	case 'n':
		return "null"
	case 't', 'f':
		return "a boolean"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case '{', '}':
		return "an object"
	case '[', ']':
		return "an array"
	}
	return "something else"
}

func typeName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "a boolean"
	case reflect.Int, reflect.Int64:
		return "an integer"
	case reflect.Float64:
		return "a number"
	case reflect.Slice, reflect.Array:
		return "an array"
	default:
		return "an object"
	}
}

// checkID returns why s is no id of at most max bytes, or "".
func checkID(s string, max int) string {
	if len(s) > max {
		return fmt.Sprintf("longer than %d bytes", max)
	}
	if hasControl(s) {
		return "has control or invisible characters"
	}
	return ""
}

// isUUIDv7 reports whether s is a version 7 UUID (RFC 9562) in its usual lower-case form.
func isUUIDv7(s string) bool {
	if len(s) != 36 || s[14] != '7' || !strings.ContainsRune("89ab", rune(s[19])) {
		return false
	}
	for i := 0; i < len(s); i++ {
		if i == 8 || i == 13 || i == 18 || i == 23 {
			if s[i] != '-' {
				return false
			}
		} else if !isLowerHex(s[i]) {
			return false
		}
	}
	return true
}

// isTraceparent checks the W3C Trace Context header: version 00 exactly, later
// versions only in the part that they share with it.
func isTraceparent(text string) bool {
	if len(text) < 55 || len(text) > MaxIDBytes || text[2] != '-' || text[35] != '-' || text[52] != '-' {
		return false
	}
	for _, part := range []string{text[:2], text[3:35], text[36:52], text[53:55]} {
		for i := 0; i < len(part); i++ {
			if !isLowerHex(part[i]) {
				return false
			}
		}
	}
	if text[:2] == "ff" || strings.Trim(text[3:35], "0") == "" || strings.Trim(text[36:52], "0") == "" {
		return false
	}
	if len(text) > 55 && (text[:2] == "00" || text[55] != '-' || hasControl(text)) {
		return false
	}
	return true
}

func isLowerHex(c byte) bool { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') }

// checkKey returns why s is no metadata key, or "": letters, digits and ._:-
// only, so that a key needs no escaping in a pointer and cannot look like anything else.
func checkKey(s string) string {
	if s == "" {
		return "an empty metadata key"
	}
	if len(s) > maxKeyBytes {
		return fmt.Sprintf("a metadata key longer than %d bytes", maxKeyBytes)
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("._:-", c) >= 0) {
			return "a metadata key with other characters than letters, digits and ._:-"
		}
	}
	return ""
}

// checkCallerMetadata bounds what a caller sends like what hooks write.
func checkCallerMetadata(md map[string]jsontext.Value) error {
	if len(md) > maxMetadataKeys {
		return &DecodeError{Pointer: "/metadata", Offset: -1,
			Reason: fmt.Sprintf("more than %d metadata keys", maxMetadataKeys)}
	}
	size, right := 0, true
	for key, value := range md {
		size += len(key) + len(value)
		right = right && checkKey(key) == "" && checkJSON(value, limits{}) == nil
	}
	if right && size <= maxMetadataBytes {
		return nil
	}
	size = 0
	for _, key := range slices.Sorted(maps.Keys(md)) { // so that the same fault is named each time
		value := md[key]
		if reason := checkKey(key); reason != "" {
			return &DecodeError{Pointer: "/metadata", Offset: -1, Reason: reason}
		}
		if err := checkJSON(value, limits{}); err != nil {
			return under(err, Join("/metadata", key))
		}
		size += len(key) + len(value)
	}
	if size > maxMetadataBytes {
		return &DecodeError{Pointer: "/metadata", Offset: -1,
			Reason: fmt.Sprintf("more than %d bytes of metadata", maxMetadataBytes)}
	}
	return nil
}
