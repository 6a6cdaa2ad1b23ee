// Package boottest holds the tests of system mode on a machine that a real systemd runs: a minimal Debian, booted in
// systemd-nspawn. They install, ask, kill, upgrade and uninstall there as root and users do. `make test-boot` makes the
// image and runs them; without one they are skipped. It decides nothing.
package boottest
