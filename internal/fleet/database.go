package fleet

import "github.com/belay-hooks/belay/internal/store/postgres"

// Database is a Source in PostgreSQL.
type Database struct{ *postgres.Auditor }

// Log implements Source.
func (d Database) Log(kernel int32) Log { return d.Auditor.Log(kernel) }

var _ Source = Database{}
