package phases

import "testing"

// A pattern that another spelling leads outside is told by what it is read as. Patterns that stay inside are not.
func TestPatternsInAnotherSpellingLeadOutside(t *testing.T) {
	for _, p := range []string{
		"%2e%2e/other/*.go", "%252e%252e/other/*", "\uff0e\uff0e/other/*", "\u2025/other/*", `"/etc/*"`, " /etc/*",
		"%2fetc/*", "\uff0fetc/*", ".\u200b./other/*", "file:%2f%2f/etc/*",
	} {
		if looksLikeGlobOutside(p) {
			t.Errorf("%q leads outside as it is written, and shows nothing", p)
		}
		if !leadsOutside("glob", "pattern", p) {
			t.Errorf("%q is taken to stay inside", p)
		}
	}
	for _, p := range []string{"*.go", "src/**/*.go", "a%20b/*.txt", "[a-z]*.md", "\uff32eadme*"} {
		if leadsOutside("glob", "pattern", p) {
			t.Errorf("%q is taken to lead outside", p)
		}
	}
}
