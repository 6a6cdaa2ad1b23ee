package builtin

// Checked is what every module passes before it is handed out.
func Checked(h Hook) (Hook, error) { return checked(h) }
