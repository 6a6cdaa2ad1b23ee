// Package sigstore decides whether a piece of evidence holds: whether a Sigstore
// bundle or a detached signature was made over this file by one of the policy's
// keys, or by whom a certificate names. It also signs with a key, and reads and makes
// keys. It and package signing below it are the only importers of the sigstore modules.
//
// It never decides whether whoever signed is trusted (package tiers does, from
// the facts found here), never fetches anything (trusted roots come from files), and
// never fails as a whole because one piece is broken: that piece becomes a fact with a
// problem.
//
// Formats: Sigstore bundle v0.3 (protobuf-specs), DSSE v1, in-toto statements v0.1
// and v1, cosign's detached signatures and encrypted keys.
package sigstore
