package postgres_test

import (
	"testing"

	"github.com/belay-hooks/belay/internal/store/postgres/pgtest"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/storetest"
)

func TestStore(t *testing.T) {
	pgtest.DSN(t)
	storetest.Run(t, func(t *testing.T) kernel.Store { return pgtest.Open(t, pgtest.Options(t, "suite")) })
}
