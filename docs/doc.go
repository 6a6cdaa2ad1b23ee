// Package docs has the pages of belay. It decides nothing: its only code are tests, which hold the pages against the
// tree.
package docs
