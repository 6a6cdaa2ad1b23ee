package sandbox

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/internal/sandbox/meter"
	"github.com/belay-hooks/belay/internal/sandbox/wasm"
	"github.com/belay-hooks/belay/internal/sealcache"
)

// prepared is a file that was parsed, type-checked, linked and metered: all that is left to do is to compile it.
type prepared struct {
	info    Info
	cost    wasm.Cost
	names   funcNames
	metered meter.Output // without its code once that is compiled
	imports []hostImport
	funcs   int // functions of its own
}

// hostImport names a function that a guest imports.
type hostImport struct{ Module, Name string }

func newPrepared(p *parsed, metered meter.Output) *prepared {
	r := &prepared{info: p.info, cost: p.cost, names: newFuncNames(p.module), metered: metered, funcs: len(p.module.Funcs)}
	r.info.Manifest = slices.Clone(p.info.Manifest)
	for i := range p.module.Imports {
		r.imports = append(r.imports, hostImport{p.module.Imports[i].Module, p.module.Imports[i].Name})
	}
	return r
}

// preparedCache stores what Inspect and Load find out about files, sealed as compiled code is. What another program
// has stored is not found: its limits, its table of hostcalls or its metering pass may be others.
type preparedCache struct {
	sealed *sealcache.Cache // nil: none
	log    *slog.Logger
}

const preparedDir = "metered"

func openPreparedCache(dir string, key []byte, log *slog.Logger) preparedCache {
	use := sealcache.Use{Purpose: "belay metered modules 1", Entries: 2 * maxCacheModules}
	return preparedCache{sealed: sealcache.Open(filepath.Join(dir, preparedDir), key, sealcache.Builder(), use), log: log}
}

func (k *codeKey) factsName() string { return "facts " + hex.EncodeToString(k.sum[:]) }

func (k *codeKey) preparedName() string {
	return fmt.Sprintf("metered %x %d %d", k.sum, k.memoryCap, meter.CostTable)
}

// header is the part of an entry that is not bytes.
type header struct {
	Info    Info
	Cost    wasm.Cost
	Metered meter.Output
	Imports []hostImport
	Funcs   int
}

// facts returns the description of a file, if it is known.
func (c *preparedCache) facts(key codeKey) (Info, bool) {
	var info Info
	entry, ok := c.get(key.factsName())
	if !ok || json.Unmarshal(entry, &info) != nil {
		return Info{}, false
	}
	return info, true
}

// load returns the prepared module of a file; nil where it is not known.
func (c *preparedCache) load(key codeKey) *prepared {
	entry, ok := c.get(key.preparedName())
	if !ok {
		return nil
	}
	head, rest, ok := cutBytes(entry)
	names, code, ok2 := cutBytes(rest)
	var h header
	if !ok || !ok2 || json.Unmarshal(head, &h) != nil {
		return nil
	}
	h.Metered.Wasm = code
	return &prepared{info: h.Info, cost: h.Cost, names: append(funcNames(nil), names...), metered: h.Metered,
		imports: h.Imports, funcs: h.Funcs}
}

// store is best effort: what is missing is made anew.
func (c *preparedCache) store(key codeKey, p *prepared) {
	if c.sealed == nil {
		return
	}
	h := header{Info: p.info, Cost: p.cost, Metered: p.metered, Imports: p.imports, Funcs: p.funcs}
	h.Metered.Wasm = nil
	head, err := json.Marshal(h, json.FormatNilSliceAsNull(true))
	if err != nil {
		c.warn(err)
		return
	}
	entry := make([]byte, 0, 8+len(head)+len(p.names)+len(p.metered.Wasm))
	entry = append(binary.LittleEndian.AppendUint32(entry, uint32(len(head))), head...)
	entry = append(binary.LittleEndian.AppendUint32(entry, uint32(len(p.names))), p.names...)
	entry = append(entry, p.metered.Wasm...)
	info, err := json.Marshal(p.info, json.FormatNilSliceAsNull(true))
	if err == nil {
		err = errors.Join(c.sealed.Put(key.preparedName(), entry), c.sealed.Put(key.factsName(), info))
	}
	if err != nil {
		c.warn(err)
	}
}

func (c *preparedCache) get(name string) ([]byte, bool) {
	entry, err := c.sealed.Get(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		c.warn(err) // the next store replaces it
	}
	return entry, err == nil
}

func (c *preparedCache) warn(err error) {
	c.log.Warn("cache of metered modules not used", slog.String("error", escape(err.Error(), maxReason)))
}

// cutBytes takes bytes with their length before them off b.
func cutBytes(b []byte) (first, rest []byte, ok bool) {
	if len(b) < 4 {
		return nil, nil, false
	}
	n := uint64(binary.LittleEndian.Uint32(b))
	if b = b[4:]; n > uint64(len(b)) {
		return nil, nil, false
	}
	return b[:n], b[n:], true
}
