package main

import "testing"

// The last line says how many removed defences were noticed, and how many were not.
func TestSummary(t *testing.T) {
	for _, c := range []struct {
		killed, tried int
		want          string
	}{
		{3, 3, "the tests notice each of 3 defences that is removed"},
		{1, 3, "of 3 defences that were removed, the tests notice 1 and do not notice 2"},
		{0, 0, "no defence has such a name"},
	} {
		if got := summary(c.killed, c.tried); got != c.want {
			t.Errorf("%d of %d: %q, want %q", c.killed, c.tried, got, c.want)
		}
	}
}
