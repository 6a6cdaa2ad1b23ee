// Package member is what a running kernel does as one of several that share a store: it takes what the others deny, and
// tells them what a person denies here.
//
// It only ever adds denials. Whether a hook runs is decided by package trust, from the file that is written here.
package member
