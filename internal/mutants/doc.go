// Package mutants decides whether the tests notice when code stops doing its
// job. It changes one place of one file, hands the changed file to `go test` as
// an overlay, and asks whether a test fails.
//
// There are two uses. A defence is a change that switches one defence off, beside the one test that has to fail
// then; docs/THREAT-MODEL.md names the same tests. A sample is a seeded choice of small changes anywhere in a
// package, for that package's own tests. The package never writes into the tree that it tests.
package mutants
