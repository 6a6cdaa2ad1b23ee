package recording

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/phases"
)

// Reader reads one recording, one invocation at a time.
type Reader struct {
	name   string
	r      *bufio.Reader
	hash   hash.Hash
	header Header
	chains map[string]*Chain
	used   map[string]bool
	end    *End
	line   int
	runs   int
	err    error
}

// NewReader reads the header. name stands in errors. Every error is an *Error.
func NewReader(r io.Reader, name string) (*Reader, error) {
	rd := &Reader{name: name, r: bufio.NewReaderSize(r, 64<<10), hash: sha256.New(), chains: map[string]*Chain{},
		used: map[string]bool{}}
	l, raw, err := rd.next()
	switch {
	case errors.Is(err, io.EOF):
		return nil, rd.fail(ErrFormat, "the file is empty", nil)
	case err != nil:
		return nil, err
	case l.Header == nil:
		return nil, rd.fail(ErrFormat, "it does not begin with a header", nil)
	}
	var v struct {
		Version string         `json:"version"`
		Rest    jsontext.Value `json:",inline"`
	}
	if err := json.Unmarshal(l.Header, &v); err == nil && v.Version != Version {
		return nil, rd.fail(ErrVersion,
			fmt.Sprintf("it says %q, and this belay reads %q", phases.SafeLine(v.Version, 64), Version), nil)
	}
	if err := rd.decode(l.Header, &rd.header); err != nil {
		return nil, err
	}
	if err := rd.check(&rd.header); err != nil {
		return nil, err
	}
	rd.hash.Write(raw)
	return rd, nil
}

// Header returns the first line.
func (r *Reader) Header() Header { return r.header }

// Runs returns how many invocations were read.
func (r *Reader) Runs() int { return r.runs }

// Lines returns how many lines were read.
func (r *Reader) Lines() int { return r.line }

// Next returns the next invocation and its configuration, nil for one that names
// none. At the end of a complete recording the error is io.EOF. Every other error is an
// *Error; after it no run of the recording counts.
func (r *Reader) Next() (*Run, *Chain, error) {
	if r.err != nil {
		return nil, nil, r.err
	}
	run, chain, err := r.advance()
	r.err = err
	return run, chain, err
}

func (r *Reader) advance() (*Run, *Chain, error) {
	for {
		l, raw, err := r.next()
		if errors.Is(err, io.EOF) {
			return nil, nil, r.fail(ErrTruncated, "its last line is missing", nil)
		}
		if err != nil {
			return nil, nil, err
		}
		switch {
		case l.Header != nil:
			return nil, nil,
				r.fail(ErrFormat, "a second header: recordings cannot be joined by putting one behind the other", nil)
		case l.Chain != nil:
			if err := r.takeChain(l.Chain); err != nil {
				return nil, nil, err
			}
		case l.End != nil:
			return nil, nil, r.finish(l.End)
		default:
			run, err := r.takeRun(l.Run)
			if err != nil {
				return nil, nil, err
			}
			r.hash.Write(raw)
			return run, r.chains[run.Chain], nil
		}
		r.hash.Write(raw)
	}
}

func (r *Reader) takeChain(raw jsontext.Value) error {
	if len(r.chains) == MaxChains {
		return r.fail(ErrLimit, "too many configurations", nil)
	}
	c := new(Chain)
	if err := r.decode(raw, c); err != nil {
		return err
	}
	if err := r.check(c); err != nil {
		return err
	}
	digest := phases.ByteDigest(raw)
	if r.chains[digest] != nil {
		return r.fail(ErrFormat, "a configuration stands in it twice", nil)
	}
	r.chains[digest] = c
	return nil
}

func (r *Reader) takeRun(raw jsontext.Value) (*Run, error) {
	if r.runs++; r.runs > MaxRuns {
		return nil, r.fail(ErrLimit, "too many invocations", nil)
	}
	run := new(Run)
	if err := r.decode(raw, run); err != nil {
		return nil, err
	}
	switch {
	case run.Chain == "" && !r.header.Redacted:
		return nil, r.fail(ErrFormat, "a run without a configuration", nil)
	case run.Chain != "" && r.chains[run.Chain] == nil:
		return nil, r.fail(ErrFormat, "a run of a configuration that does not stand before it", nil)
	}
	if err := r.check(run); err != nil {
		return nil, err
	}
	if _, err := run.Decode(); err != nil {
		return nil, r.fail(ErrFormat, "its invocation is not valid: "+err.Error(), err)
	}
	r.used[run.Chain] = true
	return run, nil
}

func (r *Reader) finish(raw jsontext.Value) error {
	end := new(End)
	if err := r.decode(raw, end); err != nil {
		return err
	}
	if err := r.check(end); err != nil {
		return err
	}
	switch got := hex.EncodeToString(r.hash.Sum(nil)); {
	case got != end.SHA256:
		return r.fail(ErrEdited,
			"its lines are not the ones that its last line names: some were added, removed or put in another order", nil)
	case end.Runs != r.runs || end.Chains != len(r.chains):
		return r.fail(ErrEdited, fmt.Sprintf("it holds %d invocations, and its last line says %d", r.runs, end.Runs), nil)
	}
	if _, err := r.r.ReadByte(); err == nil {
		r.line++
		return r.fail(ErrFormat, "there is something behind its last line", nil)
	} else if !errors.Is(err, io.EOF) {
		return r.readFailed(err)
	}
	r.end = end
	return io.EOF
}

// End returns the last line once Next has answered io.EOF.
func (r *Reader) End() End {
	if r.end == nil {
		return End{}
	}
	return *r.end
}

// Revisions returns the configurations of the runs read so far, sorted.
func (r *Reader) Revisions() []string {
	var out []string
	for digest := range r.used {
		if c := r.chains[digest]; c != nil && !slices.Contains(out, c.Revision) {
			out = append(out, c.Revision)
		}
	}
	slices.Sort(out)
	return out
}

// Digest names the recording, once Next has answered io.EOF: sha256:<hex> of all
// its lines but the last. It is the same whether the file was sealed or not.
func (r *Reader) Digest() string { return "sha256:" + r.End().SHA256 }

// next reads one line and checks its digest.
func (r *Reader) next() (l line, raw []byte, err error) {
	raw, err = r.readLine()
	if err != nil {
		return l, nil, err
	}
	if err := r.decode(raw, &l); err != nil {
		return l, nil, err
	}
	var member jsontext.Value
	for _, m := range []jsontext.Value{l.Header, l.Chain, l.Run, l.End} {
		if m != nil && member != nil {
			return l, nil, r.fail(ErrFormat, "a line with two members", nil)
		}
		if m != nil {
			member = m
		}
	}
	switch {
	case member == nil:
		return l, nil, r.fail(ErrFormat, "a line without header, chain, run or end", nil)
	case sum(member) != l.SHA256:
		return l, nil, r.fail(ErrEdited, "the line is not the one that its digest names", nil)
	}
	return l, raw, nil
}

func (r *Reader) readLine() ([]byte, error) {
	var out []byte
	r.line++
	for {
		part, err := r.r.ReadSlice('\n')
		out = append(out, part...)
		if len(out) > MaxLineBytes {
			return nil, r.fail(ErrLimit, fmt.Sprintf("a line has more than %d MiB", MaxLineBytes>>20), nil)
		}
		switch {
		case err == nil:
			return out, nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(out) == 0:
			r.line--
			return nil, io.EOF
		case errors.Is(err, io.EOF):
			return nil, r.fail(ErrTruncated, "the line has no end", nil)
		default:
			return nil, r.readFailed(err)
		}
	}
}

func (r *Reader) decode(raw []byte, into any) error {
	err := json.Unmarshal(raw, into, json.RejectUnknownMembers(true))
	if err == nil {
		return nil
	}
	text := "not JSON"
	var se *json.SemanticError
	var sy *jsontext.SyntacticError
	switch {
	case errors.As(err, &se):
		text = string(se.JSONPointer) + ": not what a recording has there"
	case errors.Is(err, jsontext.ErrDuplicateName):
		text = "two members of one name"
		if errors.As(err, &sy) {
			text = fmt.Sprintf("%s: two members of one name", sy.JSONPointer)
		}
	case errors.As(err, &sy) && strings.Count(string(sy.JSONPointer), "/") >= 10_000: // the decoder's own limit
		text = fmt.Sprintf("nested too deep at byte %d of the line", sy.ByteOffset)
	case errors.As(err, &sy):
		text = fmt.Sprintf("not JSON at byte %d of the line", sy.ByteOffset)
	}
	return r.fail(ErrFormat, phases.SafeLine(text, 512), err)
}

// check refuses lines that decode and contradict themselves.
func (r *Reader) check(what interface{ check() *place }) error {
	if p := what.check(); p != nil {
		return r.fail(ErrFormat, p.String(), nil)
	}
	return nil
}

func (r *Reader) fail(class error, text string, cause error) error {
	return &Error{File: r.name, Line: r.line, Text: text, Class: class, Cause: cause}
}

// readFailed tells an end of the file that came too early in a sealed recording
// from a disk that does not answer.
func (r *Reader) readFailed(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return r.fail(ErrTruncated, "", err)
	}
	return &Error{File: r.name, Line: r.line, Text: "it cannot be read: " + phases.SafeLine(err.Error(), 256),
		Class: ErrSealed, Cause: err}
}
