package redact

import "testing"

// Each name after which a blank may stand passes the look at its last two bytes.
func TestBareNamesPassTheFirstLook(t *testing.T) {
	for _, name := range bareNames {
		if !endsBareName(name) || !endsBareName("x "+name) || !valueFollows(name) {
			t.Errorf("%s is passed over", name)
		}
		if joined(name) {
			t.Errorf("%s has a part of its own, and needs no place in the list", name)
		}
	}
	if endsBareName("") || endsBareName("d") || endsBareName("grammar") {
		t.Error("words without such an end are looked at")
	}
}
