package hostcalls

// The documents that analysis calls answer. Members are always present unless
// marked as optional; a member added later does not change version 1 of the ABI.

// pathQuery is the argument of path_resolve: at most 64 paths of 4 KiB.
type pathQuery struct {
	Paths []string `json:"paths"`
	// what relative paths are relative to; the invocation's working directory when empty
	CWD string `json:"cwd,omitzero"`
}

// pathReply answers path_resolve, one result per path in the same order.
type pathReply struct {
	Results []pathResult `json:"results"`
}

// pathResult is one path in the forms that a rule can be written against.
// A rule should look at all of keys.
type pathResult struct {
	Input string `json:"input"`
	// ~, $HOME and file: URLs resolved, absolute where the directory is known, cleaned
	Path string `json:"path"`
	// for comparing: also percent-decoded, NFKC, invisible characters removed, \ as /, drive letter and
	// /proc/*/root dropped, lower case
	Key string `json:"key"`
	// where it leads with symbolic links followed, as far as they may be looked at; .. behind a link counts from
	// where the link leads
	Resolved string `json:"resolved,omitzero"`
	// every distinct key: that of path, of each reading of a doubtful spelling, of resolved, and of path with
	// its links followed
	Keys []string `json:"keys"`
	// path is absolute (a leading ~ is not, when the home directory is not known)
	Absolute bool `json:"absolute"`
	// resolved: every element was looked at; partial: some lie outside of the file scopes, or could not be told;
	// absent: every element was looked at until one was not there; unknown: not looked at; loop: links in a
	// circle, or more than 512 elements
	Links string `json:"links"`
	// spellings that hide something: percent, invisible, unicode, nul, backslash, drive, stream, proc, file_url,
	// blank, dot, tilde_user, variable
	Notes []string `json:"notes,omitzero"`
}

// patternQuery is the argument of pattern_match: at most 64 patterns of 1 KiB
// against at most 64 texts.
type patternQuery struct {
	// re2: RE2 syntax, unanchored; glob: *, **, ?, [class], {a,b} against the whole text, / separates
	Kind       string   `json:"kind"`
	Patterns   []string `json:"patterns"`
	Texts      []string `json:"texts"`
	IgnoreCase bool     `json:"ignore_case,omitzero"`
}

// patternReply answers pattern_match: the first match of each pattern in each
// text. A pattern that is not valid, or too costly, refuses the call (Invalid, TooLarge).
type patternReply struct {
	Any     bool         `json:"any"`
	Matches []patternHit `json:"matches"` // by text, then by pattern
}

// patternHit is one match; Start and End are byte offsets in the text.
type patternHit struct {
	Text    int `json:"text"`    // index in texts
	Pattern int `json:"pattern"` // index in patterns
	Start   int `json:"start"`
	End     int `json:"end"`
}

// secretsReply answers find_secrets(text). Values are never in it.
type secretsReply struct {
	Secrets   []secretPlace `json:"secrets"` // by place, not overlapping; ≤ 256
	Truncated bool          `json:"truncated"`
}

// secretPlace is one secret; Start and End are byte offsets in the text.
type secretPlace struct {
	Kind  string `json:"kind"` // such as github-token, private-key, password
	Start int    `json:"start"`
	End   int    `json:"end"`
}
