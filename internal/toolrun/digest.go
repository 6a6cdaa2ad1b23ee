package toolrun

import (
	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/phases"
)

// digestOf tells commands of servers apart: program and arguments, names of variables, and directory, as belay.yaml has
// them. Values of variables are not in it.
func digestOf(command, env []string, dir string) (string, error) {
	raw, err := json.Marshal(struct {
		Command []string `json:"command"`
		Env     []string `json:"env"`
		Dir     string   `json:"dir"`
	}{command, env, dir}, json.Deterministic(true))
	if err != nil {
		return "", err
	}
	canonical, err := phases.Canonical(raw)
	if err != nil {
		return "", err
	}
	return phases.ByteDigest(canonical), nil
}
