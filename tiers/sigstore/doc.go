// Package sigstore decides whether a piece of evidence holds: whether one of the policy's
// keys, or the signer that a certificate names, made a Sigstore bundle or a detached
// signature over this file. The commands sign in a package of their own, so that a program
// that verifies signatures links nothing that signs.
//
// It never decides whether the signer is trusted: package tiers does, from the facts found
// here. It never fetches anything: trusted roots come from files. It never fails as a whole
// because one piece is broken: that piece becomes a fact with a problem.
//
// Formats: Sigstore bundle v0.3 (protobuf-specs), DSSE v1, in-toto statements v0.1
// and v1, cosign's detached signatures.
package sigstore
