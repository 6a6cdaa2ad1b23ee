package sqlite

import (
	"testing"

	"github.com/belay-hooks/belay/phases"
)

// A database is compared with the digest, so it has to be that of what the migrations make.
func TestDigestIsOfWhatTheMigrationsMake(t *testing.T) {
	text, err := ownSchema()
	if err != nil {
		t.Fatal(err)
	}
	if got := phases.ByteDigest([]byte(text)); got != ownSchemaDigest {
		t.Errorf("ownSchemaDigest is %s, the migrations make %s", ownSchemaDigest, got)
	}
}
