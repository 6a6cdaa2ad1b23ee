package openclaw

// Records reports whether a change of the hook's action is for the record alone.
func Records(hook string) bool { return hooks()[hook].records }
