package oci

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"

	"github.com/go-json-experiment/json"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/errcode"

	"github.com/belay-hooks/belay/phases"
)

// get asks for url and hands the answer of status 200 to read. Other statuses
// are errors of their class.
func (s *session) get(ctx context.Context, url, accept string, read func(*http.Response) error) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return &Error{Class: ErrReference, Text: "no address can be made of it", Cause: err}
	}
	if accept != "" {
		req.Header.Set("Accept", accept)
	}
	req.Header.Set("Accept-Encoding", "identity")
	resp, err := s.client.Do(req)
	if err != nil {
		return classify(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return statusError(resp)
	}
	if err := read(resp); err != nil {
		return classify(err)
	}
	return nil
}

// document fetches a manifest or an index and checks what can be checked
// without decoding it. want may be empty: then the digest is found out.
func (s *session) document(ctx context.Context, url, mediaType, want string) ([]byte, error) {
	var body []byte
	err := s.get(ctx, url, mediaType, func(resp *http.Response) (err error) {
		got := resp.Header.Get("Content-Type")
		if mt, _, err := mime.ParseMediaType(got); err != nil || mt != mediaType {
			return fail(ErrMediaType, "it is announced as "+quote(got)+", wanted is "+mediaType)
		}
		if body, err = readAll(resp, MaxManifest, nil); err != nil {
			return err
		}
		digest := phases.ByteDigest(body)
		if want != "" && digest != want {
			return fail(ErrDigest, "what came is "+digest)
		}
		if h := resp.Header.Get("Docker-Content-Digest"); h != "" && h != digest && strings.HasPrefix(h, "sha256:") {
			return fail(ErrDigest, "the registry calls it "+quote(h)+", it is "+digest)
		}
		return nil
	})
	return body, err
}

// blob fetches content of exactly d.Size bytes and digest d.Digest. d.Size is
// within the limits of a pull.
func (s *session) blob(ctx context.Context, d Descriptor, step string) ([]byte, error) {
	var body []byte
	err := s.get(ctx, s.base+"/blobs/"+d.Digest, "", func(resp *http.Response) (err error) {
		if n := resp.ContentLength; n >= 0 && n != d.Size {
			return fail(ErrSize, fmt.Sprintf("the manifest says %d bytes, the answer is announced with %d", d.Size, n))
		}
		body, err = readAll(resp, d.Size, func(done int64) { s.progress(step, done, d.Size) })
		switch {
		case errors.Is(err, ErrTooLarge):
			return fail(ErrSize, fmt.Sprintf("the manifest says %d bytes, and the answer goes on", d.Size))
		case err != nil:
			return err
		case int64(len(body)) != d.Size:
			return fail(ErrSize, fmt.Sprintf("the manifest says %d bytes, the answer has %d", d.Size, len(body)))
		}
		if got := phases.ByteDigest(body); got != d.Digest {
			return fail(ErrDigest, "what came is "+got)
		}
		return nil
	})
	return body, err
}

// readAll reads at most limit bytes. The buffer grows with the bytes that have
// come, not with the announced size.
func readAll(resp *http.Response, limit int64, progress func(int64)) ([]byte, error) {
	tooLarge := func() error { return fail(ErrTooLarge, fmt.Sprintf("at most %d bytes are read", limit)) }
	if resp.ContentLength > limit {
		return nil, tooLarge()
	}
	r := io.LimitReader(resp.Body, limit+1)
	if progress != nil {
		r = &counting{r: r, tell: progress}
	}
	b, err := io.ReadAll(r)
	switch {
	case int64(len(b)) > limit:
		return nil, tooLarge()
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, &Error{Class: ErrSize, Text: fmt.Sprintf("the answer broke off after %d bytes", len(b)), Cause: err}
	case err != nil:
		return nil, err
	}
	return b, nil
}

type counting struct {
	r          io.Reader
	done, told int64
	tell       func(int64)
}

func (c *counting) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	if c.done += int64(n); c.done-c.told >= 64<<10 || err != nil {
		c.told = c.done
		c.tell(c.done)
	}
	return n, err
}

// statusError is the class for an HTTP status, with the registry's own words.
func statusError(resp *http.Response) error {
	b, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody)) // the status counts; the text is only for people
	var doc struct {
		Errors []struct {
			Code    string `json:"code"`
			Message string `json:"message"`
		} `json:"errors"`
	}
	said := fmt.Sprintf("status %d", resp.StatusCode)
	if json.Unmarshal(b, &doc) == nil && len(doc.Errors) > 0 {
		said += ", " + quote(strings.TrimSpace(doc.Errors[0].Code+" "+doc.Errors[0].Message))
	}
	return &Error{Class: statusClass(resp.StatusCode), Text: said, Status: resp.StatusCode}
}

func statusClass(status int) error {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return ErrAuth
	case http.StatusNotFound:
		return ErrNotFound
	}
	return ErrUnavailable
}

// classify makes an *Error of whatever the HTTP client or oras returned.
func classify(err error) error {
	var e *Error
	var er *errcode.ErrorResponse
	switch {
	case err == nil:
		return nil
	case errors.As(err, &e):
		return e
	case errors.As(err, &er):
		said := fmt.Sprintf("status %d", er.StatusCode)
		if len(er.Errors) > 0 {
			said += ", " + quote(strings.TrimSpace(er.Errors[0].Code+" "+er.Errors[0].Message))
		}
		return &Error{Class: statusClass(er.StatusCode), Text: said, Status: er.StatusCode, Cause: err}
	case errors.Is(err, auth.ErrBasicCredentialNotFound):
		return &Error{Class: ErrAuth, Text: "it wants a name and a password, and none are known for it", Cause: err}
	}
	return &Error{Class: ErrUnavailable, Text: networkText(err), Cause: err}
}

// networkText says in one line what happened on the network.
func networkText(err error) string {
	var ue *url.Error
	if errors.As(err, &ue) {
		err = ue.Err
	}
	var unknown x509.UnknownAuthorityError
	var ne net.Error
	switch {
	case errors.Is(err, context.Canceled):
		return "interrupted"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &ne) && ne.Timeout():
		return "it took too long"
	case errors.As(err, &unknown):
		return "its certificate is signed by no authority that this machine knows"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "nothing listens there"
	}
	return phases.SafeLine(err.Error(), 200)
}
