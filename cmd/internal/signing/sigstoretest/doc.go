// Package sigstoretest is a signing infrastructure for tests: a certificate authority
// with a certificate log (Fulcio's API v2), a transparency log (Rekor's API v1) and a
// timestamp authority (RFC 3161), each a server on loopback, and the trusted root that
// goes with them. The log is that of sigstore-go's authority in memory.
//
// It never decides anything, and no program imports it. It is as strict about
// requests as the real services are where a client could be wrong: the token, the
// proof of possession and the signature that is logged are verified.
package sigstoretest
