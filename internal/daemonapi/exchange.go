package daemonapi

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// Limits of an answer.
const (
	MaxAnswer      = 64 << 20 // bytes of its body
	maxHeaderBytes = 16 << 10
)

// Reply is an answer of HTTP, whole.
type Reply struct {
	Status int
	JSON   bool // its Content-Type says so
	Body   []byte
}

// Question is one request of a hook command.
type Question struct {
	Path     string // escaped already
	Accept   string // a media type
	Headless bool   // for HeadlessHeader
	Body     []byte // JSON
}

// Post sends one request on a connection on which nothing was sent yet, and reads the whole
// answer. The connection is of no further use; the caller closes it.
// The error is ErrSick: what came is no answer, not whole, or not there when ctx ended.
//
// It speaks as much of HTTP/1.1 (RFC 9112) as a hook command needs, which starts for each
// event of an agent: linking and starting a whole HTTP client costs more than asking.
func Post(ctx context.Context, conn Conn, q Question) (Reply, error) {
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	// HTTP/1.0: the answer then comes in one piece, and its end is the connection's.
	head := "POST " + q.Path + " HTTP/1.0\r\nHost: belay\r\nContent-Type: application/json\r\nAccept: " + q.Accept +
		"\r\nContent-Length: " + strconv.Itoa(len(q.Body)) + "\r\n"
	if q.Headless {
		head += HeadlessHeader + ": 1\r\n"
	}
	head += "\r\n"
	if _, err := conn.Write(append([]byte(head), q.Body...)); err != nil {
		return Reply{}, sick(ctx, err)
	}
	r, err := readReply(conn)
	if err != nil {
		return Reply{}, sick(ctx, err)
	}
	return r, nil
}

// sick gives an error its class, and the end of ctx as its cause where that was it.
func sick(ctx context.Context, err error) error {
	if cause := ctx.Err(); cause != nil {
		err = cause
	}
	return fmt.Errorf("%w: %w", ErrSick, err)
}

var (
	errHeader = errors.New("it answered something that is not HTTP")
	errLength = errors.New("its answer is not whole")
	errLarge  = errors.New("its answer is larger than 67108864 bytes") // MaxAnswer
)

// readReply reads an answer up to the end of the connection.
func readReply(conn io.Reader) (Reply, error) {
	in := &io.LimitedReader{R: conn, N: maxHeaderBytes}
	lines := bufio.NewReader(in)
	status, err := readLine(lines)
	if err != nil {
		return Reply{}, err
	}
	r, length := Reply{}, int64(-1)
	if r.Status, err = statusOf(status); err != nil {
		return Reply{}, err
	}
	for {
		line, err := readLine(lines)
		if err != nil {
			return Reply{}, err
		}
		if line == "" {
			break
		}
		name, value, ok := strings.Cut(line, ":")
		value = strings.Trim(value, " \t")
		switch {
		case !ok || name == "" || strings.ContainsAny(name, " \t"):
			return Reply{}, errHeader
		case strings.EqualFold(name, "Content-Length"):
			if length >= 0 {
				return Reply{}, errHeader
			}
			if length, err = strconv.ParseInt(value, 10, 64); err != nil || length < 0 || value[0] == '+' {
				return Reply{}, errHeader
			}
		case strings.EqualFold(name, "Transfer-Encoding"), strings.EqualFold(name, "Content-Encoding"):
			return Reply{}, errHeader // neither was asked for
		case strings.EqualFold(name, "Content-Type"):
			kind, _, _ := strings.Cut(value, ";")
			r.JSON = strings.TrimSpace(kind) == "application/json"
		}
	}
	if length > MaxAnswer {
		return Reply{}, errLarge
	}
	in.N = MaxAnswer + 1 - int64(lines.Buffered())
	if r.Body, err = io.ReadAll(lines); err != nil {
		return Reply{}, err
	}
	switch {
	case len(r.Body) > MaxAnswer:
		return Reply{}, errLarge
	case length >= 0 && length != int64(len(r.Body)):
		return Reply{}, errLength
	}
	return r, nil
}

// readLine returns the next line of a header, without its end.
func readLine(r *bufio.Reader) (string, error) {
	line, err := r.ReadString('\n')
	if errors.Is(err, io.EOF) {
		return "", errHeader
	}
	return strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r"), err
}

// statusOf reads a status line, such as "HTTP/1.1 200 OK".
func statusOf(line string) (int, error) {
	version, rest, _ := strings.Cut(line, " ")
	code, _, _ := strings.Cut(rest, " ")
	status, err := strconv.Atoi(code)
	if err != nil || len(code) != 3 || status < 200 || version != "HTTP/1.0" && version != "HTTP/1.1" {
		return 0, errHeader
	}
	return status, nil
}

// Answers reports whether a document of AnswerType says what a runtime is to read. One without
// stdout or exit says nothing: it would read as an order to go on.
func Answers(stdout *string, exit *int, stderr string) bool {
	return stdout != nil && exit != nil && (*exit == 0 || *exit == 2 && stderr != "")
}
