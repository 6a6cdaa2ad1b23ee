package daemonapi_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"reflect"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/internal/daemonapi"
	"github.com/belay-hooks/belay/internal/files"
)

// shelf is a Teller whose files hold their own paths.
type shelf struct{ daemonapi.LookFunc }

func (shelf) Read(r daemonapi.Read) daemonapi.Content {
	part := r.Path[min(r.Offset, int64(len(r.Path))):]
	return daemonapi.Content{State: daemonapi.ContentFile, Size: int64(len(r.Path)),
		Data: []byte(part[:min(len(part), r.Length)])}
}

func (shelf) List(l daemonapi.List) daemonapi.Names {
	return daemonapi.Names{Told: true, Paths: []string{strings.ReplaceAll(l.Pattern, "*", "a"),
		strings.ReplaceAll(l.Pattern, "*", "b")}}
}

// telling is looking for a client that tells what files hold.
func telling(t *testing.T, flags byte, tells daemonapi.Teller, daemon func(net.Conn)) error {
	t.Helper()
	here, there := net.Pipe()
	defer here.Close()
	q := []byte("\xbe\x01\x01" + string([]byte{flags}) + "\x00\x00\x00\x02{}")
	done := make(chan bool)
	go func() {
		defer close(done)
		defer there.Close()
		_, _ = io.ReadFull(there, make([]byte, len(q)))
		daemon(there)
	}()
	_, _, err := daemonapi.Exchange(t.Context(), here, q, tells)
	_ = here.Close()
	<-done
	return err
}

func askFrame(kind daemonapi.FrameKind, body []byte) []byte {
	return append(daemonapi.AppendHeader(nil, daemonapi.Header{Kind: kind, Length: len(body)}), body...)
}

// What a file holds and which files there are comes back, and only to a daemon that the client tells it.
func TestExchangeWithContents(t *testing.T) {
	r := daemonapi.Read{For: files.Script, Again: true, Offset: 3, Length: 4, Path: "/home/alice"}
	l := daemonapi.List{For: files.Skill, Pattern: "/h/*/x"}
	err := telling(t, 0x0c, shelf{}, func(c net.Conn) {
		_, _ = c.Write(askFrame(daemonapi.FrameRead, daemonapi.AppendRead(nil, r)))
		var header [daemonapi.FrameHeader]byte
		_, _ = io.ReadFull(c, header[:])
		h, err := daemonapi.DecodeContentHeader(header, r)
		body, _ := daemonapi.ReadBody(c, h.Length)
		got, berr := daemonapi.DecodeContent(body, r)
		if err := errors.Join(err, berr); err != nil || got.Size != 11 || string(got.Data) != "me/a" {
			t.Errorf("%+v, %v", got, err)
		}
		_, _ = c.Write(askFrame(daemonapi.FrameList, daemonapi.AppendList(nil, l)))
		_, _ = io.ReadFull(c, header[:])
		h, err = daemonapi.DecodeNamesHeader(header)
		body, _ = daemonapi.ReadBody(c, h.Length)
		names, berr := daemonapi.DecodeNames(body, l)
		if err := errors.Join(err, berr); err != nil || !names.Told ||
			!reflect.DeepEqual(names.Paths, []string{"/h/a/x", "/h/b/x"}) {
			t.Errorf("%+v, %v", names, err)
		}
		_, _ = c.Write(verdictFrame())
	})
	if err != nil {
		t.Error(err)
	}
	read := daemonapi.AppendRead(nil, r)
	for name, c := range map[string]struct {
		flags byte
		sent  []byte
	}{
		"without the flag":  {0x04, askFrame(daemonapi.FrameRead, read)},
		"a list without it": {0x04, askFrame(daemonapi.FrameList, daemonapi.AppendList(nil, l))},
		"no purpose":        {0x0c, askFrame(daemonapi.FrameRead, append([]byte{0}, read[1:]...))},
		"another purpose":   {0x0c, askFrame(daemonapi.FrameRead, append([]byte{5}, read[1:]...))},
		"opened how":        {0x0c, askFrame(daemonapi.FrameRead, append([]byte{1, 2}, read[2:]...))},
		"too far":           {0x0c, askFrame(daemonapi.FrameRead, append([]byte{1, 1, 0x80}, read[3:]...))},
		"too much":          {0x0c, askFrame(daemonapi.FrameRead, append(append(read[:10:10], 0, 0x20, 0, 0), read[14:]...))},
		"a relative path":   {0x0c, askFrame(daemonapi.FrameRead, append(read[:14:14], "home"...))},
		"a path with ..":    {0x0c, askFrame(daemonapi.FrameRead, append(read[:14:14], "/a/../b"...))},
		"cut off":           {0x0c, askFrame(daemonapi.FrameRead, read[:13])},
		"too long": {0x0c, askFrame(daemonapi.FrameRead, append(read[:14:14],
			"/"+strings.Repeat("a", daemonapi.MaxPath)...))},
		"no pattern":    {0x0c, askFrame(daemonapi.FrameList, nil)},
		"a bad pattern": {0x0c, askFrame(daemonapi.FrameList, []byte("\x03/a/["))},
		"a flag":        {0x0c, []byte("\xbe\x01\x43\x01\x00\x00\x00\x03\x03/a")},
		"an answer":     {0x0c, askFrame(daemonapi.FrameContent, []byte{1})},
		"two at once":   {0x0c, append(askFrame(daemonapi.FrameRead, read), askFrame(daemonapi.FrameRead, read)...)},
	} {
		err := telling(t, c.flags, hanging{}, func(conn net.Conn) { _, _ = conn.Write(append(c.sent, verdictFrame()...)) })
		if !errors.Is(err, daemonapi.ErrSick) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := daemonapi.DecodeQuestion([8]byte{0xbe, 1, 1, 8}); !errors.Is(err, daemonapi.ErrFrame) {
		t.Errorf("contents without links: %v", err)
	}
}

// hanging is a Teller on a file system that does not answer for a while.
type hanging struct{ daemonapi.LookFunc }

func (hanging) Read(daemonapi.Read) daemonapi.Content {
	select {} // until the test ends
}

// FuzzContents: no bytes make the decoders of reads and lists panic, what they accept is written down as it came, and
// it answers what was asked.
func FuzzContents(f *testing.F) {
	r := daemonapi.Read{For: files.Script, Offset: 2, Length: 3, Path: "/a"}
	l := daemonapi.List{For: files.Skill, Pattern: "/h/*/x"}
	f.Add(daemonapi.AppendRead(nil, r), daemonapi.AppendContent(nil, r,
		daemonapi.Content{State: daemonapi.ContentFile, Size: 9, Data: []byte("abc")}))
	f.Add(daemonapi.AppendList(nil, l), daemonapi.AppendNames(nil, l,
		daemonapi.Names{Told: true, Paths: []string{"/h/a/x"}}))
	f.Add([]byte("\x01\x01"), []byte("\x02\xff\xff\xff\xff\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, question, answer []byte) {
		if r, err := daemonapi.DecodeRead(question); err == nil {
			if !bytes.Equal(daemonapi.AppendRead(nil, r), question) {
				t.Errorf("%+v of %q", r, question)
			}
			c, err := daemonapi.DecodeContent(answer, r)
			if err == nil && (!bytes.Equal(daemonapi.AppendContent(nil, r, c), answer) || len(c.Data) > r.Length ||
				r.Offset+int64(len(c.Data)) > max(c.Size, r.Offset)) {
				t.Errorf("%+v of %q", c, answer)
			}
		}
		if l, err := daemonapi.DecodeList(question); err == nil {
			if !bytes.Equal(daemonapi.AppendList(nil, l), question) {
				t.Errorf("%+v of %q", l, question)
			}
			n, err := daemonapi.DecodeNames(answer, l)
			if err == nil && !bytes.Equal(daemonapi.AppendNames(nil, l, n), answer) {
				t.Errorf("%+v of %q", n, answer)
			}
		}
	})
}
