package postgres

import "testing"

// A kernel changes rows that restrict by itself, and events, hashes and keys through functions alone.
func TestKernelMay(t *testing.T) {
	for r, want := range map[right]bool{
		{kind: "TABLE", name: "leases", privilege: "UPDATE"}:           true,
		{kind: "TABLE", name: "leases", privilege: "TRUNCATE"}:         false,
		{kind: "TABLE", name: "events", privilege: "SELECT"}:           true,
		{kind: "TABLE", name: "events", privilege: "UPDATE"}:           false,
		{kind: "TABLE", name: "events_1_0", privilege: "DELETE"}:       false,
		{kind: "TABLE", name: "tiles", privilege: "INSERT"}:            false,
		{kind: "TABLE", name: "kernels", privilege: "UPDATE"}:          false,
		{kind: "TABLE", name: "keys", privilege: "SELECT"}:             false,
		{kind: "TABLE", name: "other", privilege: "SELECT"}:            false,
		{kind: "FUNCTION", name: "append", privilege: "EXECUTE"}:       true,
		{kind: "FUNCTION", name: "own", privilege: "EXECUTE"}:          false,
		{kind: "SCHEMA", name: "belay", privilege: "USAGE"}:            true,
		{kind: "SCHEMA", name: "belay", privilege: "CREATE"}:           false,
		{kind: "SEQUENCE", name: "kernels_id_seq", privilege: "USAGE"}: false,
	} {
		if got := kernelMay(&r); got != want {
			t.Errorf("%+v: %v", r, got)
		}
	}
}
