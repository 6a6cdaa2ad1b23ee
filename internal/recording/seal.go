package recording

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"

	"filippo.io/age"
	"filippo.io/age/armor"

	"github.com/belay-hooks/belay/phases"
)

// Recipients are the keys that a recording is sealed for.
type Recipients []age.Recipient

// Identities are the keys that open a sealed recording.
type Identities []age.Identity

// ParseRecipients reads age recipients (age1…), one or several in a text.
func ParseRecipients(texts ...string) (Recipients, error) {
	var out Recipients
	for _, t := range texts {
		list, err := age.ParseRecipients(strings.NewReader(t))
		if err != nil {
			return nil, &Error{Class: ErrSealed, Text: "not an age recipient (age1…): " + phases.SafeLine(err.Error(), 200),
				Cause: err}
		}
		out = append(out, list...)
	}
	return out, nil
}

// ParseIdentities reads a file of age identities (AGE-SECRET-KEY-1…).
func ParseIdentities(src []byte) (Identities, error) {
	list, err := age.ParseIdentities(bytes.NewReader(src))
	if err != nil { // its text may quote the key
		return nil, &Error{Class: ErrSealed, Text: "not a file of age identities (AGE-SECRET-KEY-1…)"}
	}
	return list, nil
}

// NewIdentity makes a key: the text of its file, and its recipient.
func NewIdentity() (file, recipient string, err error) {
	id, err := age.GenerateX25519Identity()
	if err != nil {
		return "", "", err
	}
	recipient = id.Recipient().String()
	return "# public key: " + recipient + "\n" + id.String() + "\n", recipient, nil
}

// PassphraseRecipients seal with a passphrase (scrypt).
func PassphraseRecipients(passphrase string) (Recipients, error) {
	r, err := age.NewScryptRecipient(passphrase)
	if err != nil {
		return nil, &Error{Class: ErrSealed, Text: "the passphrase cannot be used", Cause: err}
	}
	return Recipients{r}, nil
}

// PassphraseIdentities open recordings that are sealed with a passphrase.
func PassphraseIdentities(passphrase string) (Identities, error) {
	id, err := age.NewScryptIdentity(passphrase)
	if err != nil {
		return nil, &Error{Class: ErrSealed, Text: "the passphrase cannot be used", Cause: err}
	}
	return Identities{id}, nil
}

func isPassphrase(id age.Identity) bool {
	_, ok := id.(*age.ScryptIdentity)
	return ok
}

// Seal returns a writer that encrypts into w. The caller closes it. The format is
// age-encryption.org/v1.
func Seal(w io.Writer, to Recipients) (io.WriteCloser, error) {
	s, err := age.Encrypt(w, to...)
	if err != nil {
		return nil, &Error{Class: ErrSealed, Text: phases.SafeLine(err.Error(), 200), Cause: err}
	}
	return s, nil
}

// Sealing says how a file is sealed.
type Sealing int

const (
	Plain Sealing = iota
	ForKeys
	ForPassphrase
)

const (
	ageMagic    = "age-encryption.org/v1\n"
	scryptStart = "age-encryption.org/v1\n-> scrypt "
)

// Look reports how the recording in r is sealed. The result reads all of it, without
// armour.
func Look(r io.Reader) (io.Reader, Sealing) {
	b := bufio.NewReader(r)
	if start, _ := b.Peek(len(armor.Header)); string(start) == armor.Header {
		b = bufio.NewReader(armor.NewReader(b))
	}
	start, _ := b.Peek(len(scryptStart))
	switch {
	case string(start) == scryptStart:
		return b, ForPassphrase
	case bytes.HasPrefix(start, []byte(ageMagic)):
		return b, ForKeys
	}
	return b, Plain
}

// Unseal decrypts a reader that Look has returned as sealed.
func Unseal(r io.Reader, name string, ids Identities) (io.Reader, error) {
	refuse := func(text string, err error) (io.Reader, error) {
		return nil, &Error{File: name, Class: ErrSealed, Text: text, Cause: err}
	}
	if len(ids) == 0 {
		return refuse("it is sealed, and no identity was given", nil)
	}
	out, err := age.Decrypt(r, ids...)
	var none *age.NoIdentityMatchError
	switch {
	case errors.As(err, &none) && len(ids) == 1 && isPassphrase(ids[0]):
		return refuse("the passphrase is not the one that it was sealed with", err)
	case errors.As(err, &none):
		return refuse("none of the identities opens it", err)
	case errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF):
		return nil, &Error{File: name, Class: ErrTruncated, Cause: err}
	case err != nil:
		return refuse(phases.SafeLine(err.Error(), 200), err)
	}
	return out, nil
}
