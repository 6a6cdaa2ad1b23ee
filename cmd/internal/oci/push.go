package oci

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/belay-hooks/belay/phases"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
)

// indexAttempts: where there is no referrers API the list of evidence is one
// document that every client reads, changes and writes back; another client's
// write can swallow ours.
const indexAttempts = 3

// Pushed lists the artifacts that the registry holds now.
type Pushed struct {
	Ref      Reference // by digest
	Tag      string    // that was set, or empty
	Digest   string    // of the module
	Manifest []byte
	Evidence []string // digests of the referrers
}

// Push uploads a module, tags it if ref has a tag, and attaches the evidence (of
// which Kind and Bytes are read). It ends by reading back what the registry
// serves. Pushing the same again changes nothing. Errors are *Error: ErrTooLarge,
// ErrReference, ErrEvidence, and those of talking to a registry.
func (c *Client) Push(ctx context.Context, ref Reference, module []byte, evidence []Evidence) (*Pushed, error) {
	manifest, _, err := Pack(module)
	if err != nil {
		return nil, err
	}
	return c.PushAs(ctx, ref, manifest, module, evidence)
}

// PushAs is Push with a manifest from an earlier push or pull: one that PackAs knows,
// else it is ErrLayout.
func (c *Client) PushAs(ctx context.Context, ref Reference, manifest, module []byte,
	evidence []Evidence) (*Pushed, error) {
	const op = "push"
	bad := func(class error, text string) error {
		return &Error{Class: class, Op: op, Ref: ref.String(), Text: text}
	}
	switch {
	case ref.Digest != "":
		return nil, bad(ErrReference, "what is pushed gets its digest from its bytes; leave the @sha256:… out")
	case len(module) > MaxModule:
		return nil, bad(ErrTooLarge, fmt.Sprintf("a module may have %d bytes", MaxModule))
	case !isModule(module):
		return nil, bad(ErrLayout, "the file is no WebAssembly module")
	case len(evidence) > MaxBundles:
		return nil, bad(ErrTooLarge, fmt.Sprintf("at most %d pieces of evidence are ever read back", MaxBundles))
	}
	for _, e := range evidence {
		if len(e.Bytes) == 0 || len(e.Bytes) > MaxEvidence {
			return nil, bad(ErrTooLarge, fmt.Sprintf("evidence has 1 to %d bytes", MaxEvidence))
		}
	}
	config, made, err := PackAs(module, manifest)
	if err != nil {
		return nil, err
	}
	if !made {
		return nil, bad(ErrLayout, "the manifest is none that belay makes of this module")
	}
	ctx, cancel := c.within(ctx)
	defer cancel()
	s, err := c.open(ref)
	if err != nil {
		return nil, err
	}
	defer s.closer()
	return s.push(s.scoped(ctx, auth.ActionPull, auth.ActionPush), manifest, config, module, evidence)
}

func (s *session) push(ctx context.Context, manifest, config, module []byte, evidence []Evidence) (*Pushed, error) {
	repo := &remote.Repository{
		Client: s.client, Reference: s.orasRef(), PlainHTTP: s.plain, MaxMetadataBytes: MaxManifest,
		ReferrerListMaxPages: maxPages,
		SkipReferrersGC:      true, // many registries refuse deletions
	}
	if err := s.upload(ctx, repo, MediaTypeWasmConfig, config, "config"); err != nil {
		return nil, err
	}
	if err := s.upload(ctx, repo, MediaTypeWasm, module, "module"); err != nil {
		return nil, err
	}
	subject := describe(MediaTypeManifest, manifest)
	names := []string{subject.Digest}
	if s.ref.Tag != "" {
		names = append(names, s.ref.Tag)
	}
	for _, name := range names {
		s.progress("manifest", 0, 0)
		if err := repo.Manifests().PushReference(ctx, toOras(subject), bytes.NewReader(manifest), name); err != nil {
			return nil, about(classify(err), "push the manifest", name)
		}
		served, err := s.document(ctx, s.base+"/manifests/"+name, MediaTypeManifest, subject.Digest)
		if err != nil {
			return nil, about(err, "read back the manifest", name)
		}
		if !bytes.Equal(served, manifest) {
			return nil, &Error{Class: ErrDigest, Op: "read back the manifest", Ref: name}
		}
	}
	out := &Pushed{Ref: s.ref.Pinned(subject.Digest), Tag: s.ref.Tag, Digest: phases.ByteDigest(module),
		Manifest: manifest,
		Evidence: []string{}}
	if len(evidence) == 0 {
		return out, nil
	}
	listed, err := s.attach(ctx, repo, subject, evidence)
	out.Evidence = listed
	return out, err
}

// attach pushes evidence and makes sure that it is listed.
func (s *session) attach(ctx context.Context, repo *remote.Repository, subject Descriptor,
	evidence []Evidence) ([]string, error) {
	if err := s.upload(ctx, repo, MediaTypeEmpty, emptyConfig(), "evidence"); err != nil {
		return nil, err
	}
	docs := map[string][]byte{}
	var order []string
	for _, e := range evidence {
		if err := s.upload(ctx, repo, e.Kind.mediaType(), e.Bytes, "evidence"); err != nil {
			return nil, err
		}
		doc, err := packEvidence(e, subject)
		if err != nil {
			return nil, err
		}
		if d := phases.ByteDigest(doc); docs[d] == nil {
			docs[d] = doc
			order = append(order, d)
		}
	}
	missing := order
	for range indexAttempts {
		for _, d := range missing {
			desc := describe(MediaTypeManifest, docs[d])
			if err := repo.Manifests().Push(ctx, toOras(desc), bytes.NewReader(docs[d])); err != nil {
				return nil, about(classify(err), "push the evidence", d)
			}
		}
		listed, err := s.referrers(ctx, subject.Digest)
		if err != nil {
			return nil, about(err, "read back the evidence of", subject.Digest)
		}
		missing = slices.DeleteFunc(slices.Clone(order), func(d string) bool {
			return slices.ContainsFunc(listed, func(l Descriptor) bool { return l.Digest == d })
		})
		if len(missing) == 0 {
			return order, nil
		}
	}
	return nil, &Error{Class: ErrEvidence, Op: "push the evidence", Ref: missing[0],
		Text: "it was accepted, but it is not listed"}
}

// upload puts a blob there, unless it is.
func (s *session) upload(ctx context.Context, repo *remote.Repository, mediaType string, b []byte, step string) error {
	d := toOras(describe(mediaType, b))
	s.progress(step, 0, int64(len(b)))
	have, err := repo.Blobs().Exists(ctx, d)
	if err == nil && !have {
		err = repo.Blobs().Push(ctx, d, bytes.NewReader(b))
	}
	if err != nil {
		return about(classify(err), "push the "+step, d.Digest.String())
	}
	s.progress(step, int64(len(b)), int64(len(b)))
	return nil
}

func toOras(d Descriptor) ocispec.Descriptor {
	return ocispec.Descriptor{MediaType: d.MediaType, Digest: digest.Digest(d.Digest), Size: d.Size}
}
