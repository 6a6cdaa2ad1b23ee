package queue

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"strings"
)

const keyPrefix = "ed25519:"

// ParseReviewerKey reads ed25519:BASE64, as belay.yaml holds it.
func ParseReviewerKey(s string) (ed25519.PublicKey, error) {
	enc, ok := strings.CutPrefix(s, keyPrefix)
	if !ok {
		return nil, errors.New("a reviewer's key has the form ed25519:BASE64")
	}
	b, err := base64.StdEncoding.Strict().DecodeString(enc)
	if err != nil || len(b) != ed25519.PublicKeySize || FormatReviewerKey(b) != s { // the decoder skips line ends
		return nil, errors.New("a reviewer's key is the base64 of 32 bytes")
	}
	return ed25519.PublicKey(b), nil
}

// FormatReviewerKey is the inverse of ParseReviewerKey.
func FormatReviewerKey(k ed25519.PublicKey) string {
	return keyPrefix + base64.StdEncoding.EncodeToString(k)
}
