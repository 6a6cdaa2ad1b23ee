// Package tiers decides how far a hook is trusted. It decodes the manifest in the
// module file and derives the tier from proof. It cuts the capabilities that a hook
// wants down to those that its tier and the operator allow.
//
// It never believes what a module says about its tier, and it never runs one.
package tiers
