// Package code writes rules down as source of a hook in Go, Rust or C that decides what
// they decide, for policies that outgrow YAML. It decides which files that takes and what
// stands in them.
//
// It reads and writes no file, knows nothing of compilers and SDKs (internal/hookbuild
// does), and the same rules always become the same text.
package code
