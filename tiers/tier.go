// Package tiers decides who a hook is: it decodes the manifest that stands in
// the module file, derives the tier from proof, and cuts the capabilities that a
// hook wants down to what its tier and the operator allow.
//
// It never believes a module's own word about its tier, and it never runs one.
package tiers
