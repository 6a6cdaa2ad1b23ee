// Package sigstore decides whether a piece of evidence holds: whether a Sigstore
// bundle or a detached signature was made over this file by one of the policy's
// keys, or by whom a certificate names. It also signs, and reads and makes keys.
// It is the only importer of the sigstore modules.
//
// It never decides whether whoever signed is trusted (package tiers does, from
// the facts found here), never fetches anything to verify (trusted roots come from
// files), and never fails as a whole because one piece is broken: that piece becomes
// a fact with a problem. Only signing with an identity token speaks with others, with
// those that the caller names; the token is shown to the certificate authority and to
// nobody else, and what they answer is checked before it is returned.
//
// Formats: Sigstore bundle v0.3 (protobuf-specs), DSSE v1, in-toto statements v0.1
// and v1, cosign's detached signatures and encrypted keys.
package sigstore
