package hookcmd

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// answer is client.Answer as far as a hook command passes it on: the verdicts stay unread.
type answer struct {
	stdout *string
	stderr string
	exit   *int
	notes  []string
}

// decodeAnswer reads a daemon's answer as json.Unmarshal would: a member of another name is passed over,
// null is an absent one, and no name stands there twice. A program that reads one answer and ends does
// without the description of its type that the library makes first.
func decodeAnswer(body []byte) (a answer, err error) {
	d := jsontext.NewDecoder(bytes.NewBuffer(body))
	if err := opens(d, '{'); err != nil {
		return answer{}, err
	}
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			return answer{}, err
		}
		switch member := name.String(); member {
		case "stdout":
			a.stdout, err = text(d)
		case "stderr":
			var s *string
			if s, err = text(d); s != nil {
				a.stderr = *s
			}
		case "exit":
			a.exit, err = whole(d)
		case "notes":
			a.notes, err = texts(d)
		default:
			err = d.SkipValue()
		}
		if err != nil {
			return answer{}, err
		}
	}
	if _, err := d.ReadToken(); err != nil {
		return answer{}, err
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return answer{}, errors.New("something stands after it")
	}
	return a, nil
}

// opens reads the begin of an object or of an array.
func opens(d *jsontext.Decoder, kind jsontext.Kind) error {
	t, err := d.ReadToken()
	if err == nil && t.Kind() != kind {
		err = fmt.Errorf("%s in place of %s", t.Kind(), kind)
	}
	return err
}

// text reads a string; nil for null.
func text(d *jsontext.Decoder) (*string, error) {
	t, err := d.ReadToken()
	if err != nil || t.Kind() == 'n' {
		return nil, err
	}
	if t.Kind() != '"' {
		return nil, fmt.Errorf("%s in place of a string", t.Kind())
	}
	s := t.String()
	return &s, nil
}

// whole reads a whole number; nil for null.
func whole(d *jsontext.Decoder) (*int, error) {
	t, err := d.ReadToken()
	if err != nil || t.Kind() == 'n' {
		return nil, err
	}
	if t.Kind() != '0' {
		return nil, fmt.Errorf("%s in place of a number", t.Kind())
	}
	n, err := strconv.Atoi(t.String())
	return &n, err
}

// texts reads an array of strings; nil for null.
func texts(d *jsontext.Decoder) (out []string, err error) {
	if d.PeekKind() == 'n' {
		return nil, d.SkipValue()
	}
	if err := opens(d, '['); err != nil {
		return nil, err
	}
	for d.PeekKind() != ']' {
		s, err := text(d)
		if err != nil {
			return nil, err
		}
		if s == nil {
			s = new(string)
		}
		out = append(out, *s)
	}
	_, err = d.ReadToken()
	return out, err
}
