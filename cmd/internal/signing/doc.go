// Package signing signs hook files, and makes and reads the keys that sign them. A signature is
// returned only after tiers/sigstore has verified it.
//
// It never decides whether a signer is trusted (package tiers does). Only
// signing with an identity token talks to services, to those that the caller
// names. The token is sent to the certificate authority and to no other
// service. Each answer is compared with the signed file before it is used.
//
// It is a package of the commands: a program that embeds belay verifies signatures and links nothing of it.
package signing
