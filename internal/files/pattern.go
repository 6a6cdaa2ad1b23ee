package files

// Unmarked returns the path of a pattern up to the first element with a mark of path.Match; whole says that there is
// none.
func Unmarked(pattern string) (fixed string, whole bool) {
	var out []byte
	end := 0 // of the last whole element
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; c {
		case '*', '?', '[':
			return string(out[:end]), false
		case '\\':
			if i++; i < len(pattern) {
				out = append(out, pattern[i])
			}
		case '/':
			end = len(out)
			out = append(out, c)
		default:
			out = append(out, c)
		}
	}
	return string(out), true
}
