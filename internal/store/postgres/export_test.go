package postgres

// Rules returns what each role may do with each table, and which role may call a function; "": none.
func Rules() (tables map[string]map[string]string, functions map[string]string) {
	tables, functions = map[string]map[string]string{}, map[string]string{}
	for _, t := range allTables() {
		tables[t.name] = map[string]string{"kernel": t.kernel, "reviewer": t.reviewer, "auditor": t.auditor}
	}
	for _, f := range kernelFunctions() {
		functions[f] = "kernel"
	}
	for _, f := range innerFunctions() {
		functions[f] = ""
	}
	return tables, functions
}
