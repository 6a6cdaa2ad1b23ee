package fuzz

import (
	"context"
	"encoding/binary"
	"hash/fnv"
	"io/fs"
	"math/rand/v2"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/hostcalls"
	"github.com/belay-hooks/belay/internal/rig"
	"github.com/belay-hooks/belay/phases"
)

// ports answer a hook from a number: the same request has the same answer. Nothing
// is carried out.
type ports struct{ seed uint64 }

func outside(p *plan) *ports { return &ports{p.ports} }

// attach gives a turn these ports and no others.
func (p *ports) attach(cfg hostcalls.SessionConfig) hostcalls.SessionConfig {
	trace, traced := cfg.Tap.(*hostcalls.Trace)
	cfg.State, cfg.Files = p, p
	cfg.Tools, cfg.HTTP, cfg.Leases = nil, nil, nil
	if p.seed != 0 {
		ask := rig.Ask(p.ask)
		cfg.Tools, cfg.HTTP, cfg.Leases = ask, ask, ask
	}
	if traced { // it has traced the ports that are gone
		*trace = hostcalls.Trace{}
		cfg = cfg.Record(trace)
	}
	return cfg
}

func (p *ports) rng(port string, request []byte) *rand.Rand {
	h := fnv.New64a()
	_ = binary.Write(h, binary.LittleEndian, p.seed) // a hash takes everything
	h.Write([]byte(port + "\x00"))
	h.Write(request)
	return rand.New(rand.NewPCG(p.seed, h.Sum64()))
}

// Get implements hostcalls.StateReader.
func (p *ports) Get(_ context.Context, key string) ([]byte, int64, error) {
	if p.seed == 0 {
		return nil, 0, nil
	}
	rng := p.rng("state", []byte(key))
	switch rng.IntN(5) {
	case 0:
		return nil, 0, nil
	case 1:
		return []byte(pick(rng, limits())), 1, nil
	case 2:
		return []byte(pick(rng, oddTexts())), 1, nil
	case 3:
		return []byte(strings.Repeat("9", min(pick(rng, lengths()), hostcalls.MaxStateVal))), 1, nil
	}
	return []byte(`{"count":1,"list":["a"],"since":"2026-01-01T00:00:00Z"}`), 1, nil
}

// Usage implements hostcalls.StateReader.
func (p *ports) Usage(context.Context) (int, int, error) {
	if p.seed%3 == 1 {
		return hostcalls.MaxStateKeys, hostcalls.MaxState, nil
	}
	return 0, 0, nil
}

// Readlink implements hostcalls.FileSystem.
func (p *ports) Readlink(_ context.Context, path string) (string, error) {
	switch p.rng("readlink", []byte(path)).IntN(8) {
	case 0:
		return "/", nil
	case 1:
		return "../../..", nil
	case 2:
		return "", fs.ErrNotExist
	case 3:
		return "", hostcalls.FileError("unknown")
	}
	return "", hostcalls.ErrNotLink
}

// ask answers a call that something outside of the kernel carries out.
func (p *ports) ask(_ context.Context, port string, _ phases.Actor, request jsontext.Value) (jsontext.Value, error) {
	rng := p.rng(port, request)
	switch rng.IntN(10) {
	case 0:
		return nil, pick(rng,
			[]hostcalls.Errno{hostcalls.Denied, hostcalls.Invalid, hostcalls.TooLarge, hostcalls.Pending, hostcalls.Unavailable})
	case 1:
		return nil, &hostcalls.Refusal{Errno: hostcalls.Denied, Reply: jsontext.Value(`{"reason":"no"}`)}
	case 2:
		return jsontext.Value(`{"text":"` + strings.Repeat("a", min(pick(rng, lengths()), 1<<19)) + `"}`), nil
	case 3:
		return jsontext.Value(`{}`), nil
	case 4:
		return jsontext.Value(`{"decision":"block","status":500,"ok":false,"covered":false,"body":"no","result":null}`), nil
	}
	return jsontext.Value(
		`{"decision":"allow","status":200,"ok":true,"covered":true,"active":true,"body":"{\"allow\":true}","result":{"stdout":"ok"},"id":"session/s-1/1","token":"t"}`), nil
}

func pick[T any](rng *rand.Rand, list []T) T { return list[rng.IntN(len(list))] }
