// Package httpcall sends the requests of trusted hooks (http_request). It decides
// where a request may go: to a host, port and scheme that the operator has listed for
// the binding, at an address that is public or that the operator has listed, too,
// and along redirects that pass the same test each.
//
// It never asks the name service twice for one connection, never uses a proxy, a
// cookie jar, a kept connection or a decompressor, never sends a hook's headers to
// another origin than the one that the hook named, and never takes a setting from the
// environment.
package httpcall
