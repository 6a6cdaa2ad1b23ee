package oci

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// referrers lists the attachments of a manifest: by the referrers API, or
// without one by its tag schema. An empty list is no error.
func (s *session) referrers(ctx context.Context, subject string) ([]Descriptor, error) {
	next := s.base + "/referrers/" + subject
	var all []Descriptor
	for page := 0; next != "" && page < maxPages && len(all) < maxListed; page++ {
		var list []Descriptor
		var link string
		supported := true
		err := s.get(ctx, next, MediaTypeIndex, func(resp *http.Response) error {
			if ct, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";"); strings.TrimSpace(ct) != MediaTypeIndex {
				supported = false // a web page, most likely
				return nil
			}
			body, err := readAll(resp, MaxManifest, nil)
			if err != nil {
				return err
			}
			if list, err = decodeIndex(body); err != nil {
				return err
			}
			link, err = nextPage(resp)
			return err
		})
		if page == 0 && (!supported || noSuchAPI(err)) {
			return s.fallback(ctx, subject)
		}
		if err != nil {
			return nil, err
		}
		all, next = append(all, list...), link
	}
	return all[:min(len(all), maxListed)], nil
}

// noSuchAPI: registries from before the referrers API answer 404, some others
// say that they know no such request.
func noSuchAPI(err error) bool {
	var e *Error
	return errors.As(err, &e) && slices.Contains([]int{
		http.StatusNotFound, http.StatusBadRequest, http.StatusMethodNotAllowed, http.StatusNotImplemented,
	}, e.Status)
}

// fallback reads the index under the tag sha256-<hex>.
func (s *session) fallback(ctx context.Context, subject string) ([]Descriptor, error) {
	tag := strings.Replace(subject, ":", "-", 1)
	body, err := s.document(ctx, s.base+"/manifests/"+tag, MediaTypeIndex, "")
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, about(err, "read the list of evidence", tag)
	}
	list, err := decodeIndex(body)
	if err != nil {
		return nil, about(err, "read the list of evidence", tag)
	}
	return list[:min(len(list), maxListed)], nil
}

var linkForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`<([^>]+)>\s*;\s*rel="?next"?`) })

// nextPage returns the address of the next page, or nothing. It has to be the
// same registry's: the guard would refuse it later with a worse message.
func nextPage(resp *http.Response) (string, error) {
	m := linkForm().FindStringSubmatch(resp.Header.Get("Link"))
	if m == nil {
		return "", nil
	}
	u, err := resp.Request.URL.Parse(m[1])
	if err != nil {
		return "", &Error{Class: ErrMalformed, Text: "the link to the next page is no address", Cause: err}
	}
	if !sameOrigin(u, resp.Request.URL) {
		return "", fail(ErrRedirect, "the next page is on "+quote(u.Host))
	}
	return u.String(), nil
}

func sameOrigin(a, b *url.URL) bool { return a.Scheme == b.Scheme && canonical(a) == canonical(b) }

// evidence reads every referrer's own manifest: lists leave artifact types out,
// or state the config's media type instead. What cannot be used is skipped with
// a reason; only what stops the whole conversation is an error.
func (s *session) evidence(ctx context.Context, subject string) ([]Evidence, []Skipped, error) {
	list, err := s.referrers(ctx, subject)
	if err != nil {
		return nil, nil, err
	}
	// Those that call themselves evidence first, so that others cannot push them
	// over the limit; the rest in the registry's order.
	slices.SortStableFunc(list, func(a, b Descriptor) int { return cmp.Compare(rank(a), rank(b)) })
	var taken []Evidence
	var skipped []Skipped
	seen := map[string]bool{}
	looked := 0
	for _, d := range list {
		if seen[d.Digest] {
			continue
		}
		seen[d.Digest] = true
		skip := func(why string) { skipped = append(skipped, Skipped{Referrer: d.Digest, Why: why}) }
		switch {
		case len(taken) == MaxBundles:
			skip("there is more evidence than is read")
			continue
		case looked == maxReferrers:
			skip("more is attached than is looked at")
			continue
		}
		looked++
		e, err := s.oneEvidence(ctx, d, subject)
		if err != nil {
			if !harmless(err) {
				return nil, nil, err
			}
			skip(whyOf(err))
			continue
		}
		if slices.ContainsFunc(taken, func(t Evidence) bool { return t.Digest == e.Digest && t.Kind == e.Kind }) {
			skip("the same evidence is attached twice")
			continue
		}
		taken = append(taken, e)
		s.progress("evidence", int64(len(taken)), int64(len(list)))
	}
	return taken, skipped, nil
}

func rank(d Descriptor) int {
	if _, ok := kindOf(d.ArtifactType); ok {
		return 0
	}
	return 1
}

func (s *session) oneEvidence(ctx context.Context, d Descriptor, subject string) (Evidence, error) {
	if d.MediaType != MediaTypeManifest {
		return Evidence{}, fail(ErrMediaType, "it is "+quote(d.MediaType))
	}
	if d.Size > MaxManifest {
		return Evidence{}, fail(ErrTooLarge, "its manifest is announced as larger than one may be")
	}
	body, err := s.document(ctx, s.base+"/manifests/"+d.Digest, MediaTypeManifest, d.Digest)
	if err != nil {
		return Evidence{}, about(err, "read the attached manifest", d.Digest)
	}
	m, err := decodeManifest(body)
	if err != nil {
		return Evidence{}, err
	}
	kind, layer, err := m.evidence(subject)
	if err != nil {
		return Evidence{}, err
	}
	b, err := s.blob(ctx, layer, "evidence")
	if err != nil {
		return Evidence{}, about(err, "read the evidence", layer.Digest)
	}
	return Evidence{Kind: kind, Bytes: b, MediaType: layer.MediaType, Digest: layer.Digest, Subject: subject,
		Referrer: d.Digest}, nil
}

// harmless errors are about one referrer and its content.
func harmless(err error) bool {
	for _, class := range []error{ErrNotFound, ErrTooLarge, ErrSize, ErrDigest, ErrMediaType, ErrMalformed, ErrLayout} {
		if errors.Is(err, class) {
			return true
		}
	}
	return false
}

func whyOf(err error) string {
	var e *Error
	if errors.As(err, &e) && e.Text != "" {
		return e.Class.Error() + ": " + e.Text
	}
	return err.Error()
}
