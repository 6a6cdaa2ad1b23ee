// Package redact finds secrets in text and JSON and redacts them. It decides
// what looks like a secret; it never decides what to do with a text that has one.
//
// Three things are redacted: strings of a known form (tokens, private keys, URLs
// with passwords), values whose name says that they are secret (members of
// objects, KEY=value, headers), and what the operator's masks name. The first
// two are also looked for in a few layers of encoding.
//
// It does no I/O and keeps no text: of those in which it found nothing it has digests under a
// key of its own. Work is linear in the length of the text. A
// Redactor is safe for concurrent use.
package redact
