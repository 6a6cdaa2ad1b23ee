package sandbox

// Check makes every check of [Engine.Load] that costs neither metering nor
// compiling: format, types, limits, the estimate, imports, what is declared.
// Errors are *LoadError. Safe for concurrent use; the file is not kept.
func (e *Engine) Check(file []byte, opts LoadOptions) error {
	p, err := e.parse(file)
	if err != nil {
		return err
	}
	if opts.MemoryCap == 0 {
		opts.MemoryCap = DefaultMemoryCap
	}
	return e.admit(p, &opts)
}
