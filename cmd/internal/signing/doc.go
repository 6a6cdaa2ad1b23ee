// Package signing signs a file with a short-lived certificate, or with a key in a key
// management service. A certificate authority (Fulcio), a transparency log (Rekor) and
// a timestamp authority say who signed and when; the caller names them, and an identity
// token is shown to the certificate authority only.
//
// It decides whether their answers belong to what was signed, before it returns them. It
// never decides who is trusted, and it verifies nothing that others signed: package
// sigstore does, and links none of the clients of this package.
package signing
