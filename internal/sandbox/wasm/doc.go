// Package wasm stands between hostile bytes and the WebAssembly engine. It
// decides whether a file is a core 2.0 module that keeps belay's limits,
// type-checks all of it, estimates the cost of compiling it, and writes modules
// back from its own model.
//
// It never runs, compiles or links anything, knows nothing about hostcalls or
// manifests, and never repairs: it refuses a module that is not exactly right
// with an [*Error]. Memory that parsing takes is bounded by the size of the
// file, whatever counts the file claims.
//
// The binary format and the validation algorithm are those of the WebAssembly core
// specification 2.0 (chapters "Binary Format" and appendix "Validation Algorithm").
package wasm
