package oci

import (
	"context"

	"github.com/belay-hooks/belay/phases"
	"oras.land/oras-go/v2/registry/remote/auth"
)

// Pulled is a hook as a registry gave it: every digest in it was computed from
// the bytes in it. Whether the evidence is worth anything is for others to say.
type Pulled struct {
	Ref            Reference // by digest, whatever was asked for
	Module         []byte
	Digest         string // of Module
	Manifest       []byte // binds ManifestDigest to Digest: see ModuleLayer
	ManifestDigest string
	Evidence       []Evidence
	Skipped        []Skipped
}

// Resolve asks once what a tag stands for now and returns the reference by
// digest, with the digest computed from the manifest itself. A reference that has
// a digest is returned without asking. Errors are *Error of any class.
func (c *Client) Resolve(ctx context.Context, ref Reference) (Reference, error) {
	if ref.Digest != "" {
		return ref.Pinned(ref.Digest), nil
	}
	ctx, cancel := c.within(ctx)
	defer cancel()
	s, err := c.open(ref)
	if err != nil {
		return Reference{}, err
	}
	defer s.closer()
	_, _, digest, err := s.manifest(s.scoped(ctx, auth.ActionPull))
	if err != nil {
		return Reference{}, err
	}
	return ref.Pinned(digest), nil
}

// Pull fetches a hook and the evidence attached to it. A tag is resolved once;
// everything after that goes by digest. A reference with a tag and a digest goes
// by the digest alone. Errors are *Error of any class.
func (c *Client) Pull(ctx context.Context, ref Reference) (*Pulled, error) {
	ctx, cancel := c.within(ctx)
	defer cancel()
	s, err := c.open(ref)
	if err != nil {
		return nil, err
	}
	defer s.closer()
	return s.pull(s.scoped(ctx, auth.ActionPull))
}

func (s *session) pull(ctx context.Context) (*Pulled, error) {
	body, layer, digest, err := s.manifest(ctx)
	if err != nil {
		return nil, err
	}
	pinned := s.ref.Pinned(digest)
	module, err := s.blob(ctx, layer, "module")
	if err != nil {
		return nil, about(err, "read the module", layer.Digest)
	}
	if !isModule(module) {
		return nil, &Error{Class: ErrMediaType, Op: "read the module", Ref: layer.Digest,
			Text: "the layer calls itself " + MediaTypeWasm + ", and it is none"}
	}
	evidence, skipped, err := s.evidence(ctx, digest)
	if err != nil {
		return nil, about(err, "look for evidence of", pinned.String())
	}
	return &Pulled{
		Ref: pinned, Module: module, Digest: layer.Digest, Manifest: body, ManifestDigest: digest,
		Evidence: evidence, Skipped: skipped,
	}, nil
}

// manifest fetches the hook's manifest by digest, else by tag.
func (s *session) manifest(ctx context.Context) (body []byte, layer Descriptor, digest string, err error) {
	name := s.ref.Digest
	if name == "" {
		name = s.ref.Tag
	}
	if name == "" {
		return nil, layer, "",
			&Error{Class: ErrReference, Op: "read the manifest of", Ref: s.ref.String(),
				Text: "which one? Give a tag or a digest"}
	}
	const op = "read the manifest of"
	s.progress("manifest", 0, 0)
	body, err = s.document(ctx, s.base+"/manifests/"+name, MediaTypeManifest, s.ref.Digest)
	if err != nil {
		return nil, layer, "", about(err, op, s.ref.String())
	}
	m, err := decodeManifest(body)
	if err != nil {
		return nil, layer, "", about(err, op, s.ref.String())
	}
	if layer, err = m.module(); err != nil {
		return nil, layer, "", about(err, op, s.ref.String())
	}
	return body, layer, phases.ByteDigest(body), nil
}
