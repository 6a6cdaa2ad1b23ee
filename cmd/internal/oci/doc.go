// Package oci decides which bytes a registry may give us: it pushes a hook and
// its evidence as OCI artifacts, and pulls them back under limits that hold
// before and while reading, with every digest computed again from what came.
//
// It never decides whether a hook is trusted (its receiver verifies
// signatures), never runs or unpacks a module, never follows a registry to
// another host unless the operator named that host, and never sends a
// credential to a host that it does not belong to.
//
// Layout. A hook is an image manifest with the config media type
// application/vnd.wasm.config.v0+json and one layer, application/wasm, which is
// the module file. The manifest depends on nothing but that file, so that the
// same file has the same manifest digest in every registry and a signature over
// the manifest survives a mirror. Evidence is attached by referrers: manifests
// with the hook's manifest as their subject, one layer each.
//
// Sources: OCI image specification 1.1 (manifest, index, descriptor), OCI
// distribution specification 1.1 (pull, push, referrers and their tag schema),
// the CNCF Wasm OCI artifact layout.
package oci

import "time"

// Media types of the layout.
const (
	MediaTypeManifest   = "application/vnd.oci.image.manifest.v1+json"
	MediaTypeIndex      = "application/vnd.oci.image.index.v1+json"
	MediaTypeWasmConfig = "application/vnd.wasm.config.v0+json"
	MediaTypeWasm       = "application/wasm"
	MediaTypeEmpty      = "application/vnd.oci.empty.v1+json"
	// MediaTypeBundle is the artifact type and layer type of a Sigstore bundle.
	MediaTypeBundle = "application/vnd.dev.sigstore.bundle.v0.3+json"
	// MediaTypeSignature is ours: a detached signature over the module file, as
	// base64 text. The ecosystem has no referrer type for it.
	MediaTypeSignature = "application/vnd.belay.hook.signature.v1"
)

// Limits, in bytes and counts. They are constants and no options: belay would
// refuse a larger hook later anyway.
const (
	MaxModule    = 8 << 20 // of a layer
	MaxManifest  = 1 << 20 // of a manifest, and of one page of referrers
	MaxEvidence  = 1 << 20 // of one bundle or signature
	MaxBundles   = 31      // pieces of evidence taken; with the manifest 32
	maxReferrers = 64      // referrers looked at
	maxListed    = 1024    // descriptors read from an index, over all its pages
	maxPages     = 8       // of referrers
	maxErrorBody = 16 << 10
	maxHeader    = 64 << 10
	maxRedirects = 5
	maxRef       = 512 // characters of a reference
)

// DefaultTimeout bounds a whole push or pull.
const DefaultTimeout = 5 * time.Minute

const (
	dialTimeout   = 10 * time.Second
	headerTimeout = 30 * time.Second // from the request sent to the header read
)
