//go:build !unix

package server_test

// limitDescriptors does nothing where descriptors have no limit.
func limitDescriptors() {}
