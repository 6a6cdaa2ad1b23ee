// Package audit builds the records of what happened: events in which secrets
// are redacted and originals stand only as keyed digests. It decides what of an
// invocation is kept, in which form, and what an audit hook may still redact.
//
// It never stores anything, and it never lets an original through because
// redacting it failed: then the record has digests only.
package audit
